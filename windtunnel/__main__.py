"""``python -m windtunnel``."""

from windtunnel.cli import main

main()
