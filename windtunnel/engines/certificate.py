"""A certificate for the server of one deployment, and the trust store that Java's clients need."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAYS: Final = 30  # longer than a study
_KEY_BITS: Final = 2048
_PUBLIC: Final = "changeit"
"""Java's usual password of a trust store. The store has no secret, but Java requires a password."""


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate: ``server`` has it with its private key, ``trusted`` without.

    ``server`` and ``certificate`` are PEM texts, ``trusted`` is a trust store in the format PKCS12.
    """

    server: str
    certificate: str
    trusted: bytes


def self_signed(name: str, address: str) -> Certificate:
    """A certificate for the server with a host name and an IP address, valid for 30 days."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address(address))]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, SHA256())
    )
    text = made.public_bytes(Encoding.PEM).decode()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Certificate(private + text, text, trust_store(text.encode()))


def trust_store(certificates: bytes) -> bytes:
    """A trust store in the format PKCS12 of certificates in PEM; raises ValueError."""
    found = x509.load_pem_x509_certificates(certificates)
    entries = [PKCS12Certificate(one, f"trusted-{i}".encode()) for i, one in enumerate(found)]
    return serialize_java_truststore(entries, BestAvailableEncryption(_PUBLIC.encode()))


def trusting(store: Path) -> tuple[str, ...]:
    """The options of a JVM that trusts the servers in a trust store, and no others."""
    return (
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={_PUBLIC}",
    )
