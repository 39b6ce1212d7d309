"""Web endpoints of an existing cluster: HTTP or TLS, SPNEGO, the active one of several servers.

``client.py`` sends requests, ``gssapi.py`` makes Kerberos tokens, ``problems.py`` states what is
wrong and what to do, ``active.py`` finds the active NameNode and ResourceManager.
"""

from windtunnel.hosts.rest.access import Access
from windtunnel.hosts.rest.client import Answer, RestClient, Sent

__all__ = ["Access", "Answer", "RestClient", "Sent"]
