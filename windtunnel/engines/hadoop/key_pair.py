"""The RSA key pair of the ResourceManager's certificate authority, kept for later deployments.

At each start, the ResourceManager generates a key of 2,048 bits for the HTTPS connections between
its proxy and application masters, even if no application uses HTTPS, which is the default
(``ProxyCAManager``, Hadoop 3.3 and later). This takes 1 to 5 CPU seconds, because C1 has no fast
multiplication of large numbers, and the time varies because it is a search for primes. The first
deployment stores the key, and later deployments start with it. With HTTPS, every ResourceManager
generates its own key (docs/decisions/0039).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from windtunnel import durable
from windtunnel.engines.artifacts import cache_root
from windtunnel.engines.hadoop.providers import with_provider
from windtunnel.engines.hadoop.software import Software
from windtunnel.hosts.base import Host

_PROVIDER = "io.windtunnel.keys.KeptKeys"
_PREFERRED = "jdk.security.provider.preferred=KeyPairGenerator.RSA:KeptKeys\n"
_POLICY = "yarn.resourcemanager.application-https.policy"
_FILE = "resourcemanager-key.der"
_PROPERTIES = "resourcemanager-security.properties"
_KEY_AT_MOST = 4096  # bytes; a key of 2,048 bits has about 1,220


def kept_key() -> Path:
    """The file with the key, in PKCS #8."""
    return cache_root() / "keys" / _FILE


def use_key(host: Host, software: Software, settings: Mapping[str, str]) -> tuple[str, ...]:
    """Options of a ResourceManager on ``host`` that uses the kept key, or creates one to keep.

    Writes the key, if there is one, and the security properties to the folder of the host. No
    options, so a key of its own, if ``settings`` have HTTPS for application masters, or if the
    runtime's list of security providers is not known.
    """
    properties = with_provider(software.java.parent.parent, _PROVIDER)
    if settings.get(_POLICY, "NONE") != "NONE" or properties is None:
        return ()
    with suppress(OSError):
        host.write_bytes(host.root / _FILE, kept_key().read_bytes())
    host.write_text(host.root / _PROPERTIES, properties + _PREFERRED)
    return (
        f"-Djava.security.properties={host.root / _PROPERTIES}",
        f"-Dwindtunnel.key_pair={host.root / _FILE}",
    )


def keep_key(host: Host) -> None:
    """Keep the key that the ResourceManager on ``host`` has generated, unless one is kept."""
    used, kept = host.root / _FILE, kept_key()
    with suppress(OSError):
        if kept.exists() or used.is_symlink() or used.stat().st_size > _KEY_AT_MOST:
            return
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        durable.write_bytes(kept, used.read_bytes())
