"""Predicted beside measured: points of results folders, and the accuracy of the model."""
