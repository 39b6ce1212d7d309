"""Audits: checks of tuning and security on collected facts and configuration directories."""
