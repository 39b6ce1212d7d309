"""An existing cluster, read and never changed: its configuration, its hosts, its description.

``site_files.py`` reads a folder of client configuration, ``endpoints.py`` finds the web addresses
in it, ``services.py`` reads them, ``describe.py`` and ``writing.py`` make the description.
"""
