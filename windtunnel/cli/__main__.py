"""``python -m windtunnel.cli``."""

from windtunnel.cli import main

main()
