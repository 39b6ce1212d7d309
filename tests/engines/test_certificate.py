"""The certificate of a server: clients that trust it connect, all others refuse."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from windtunnel.engines.certificate import Certificate, self_signed, trusting


@pytest.fixture(scope="module")
def made() -> Certificate:
    return self_signed("master", "127.1.1.1")


def greeting(made: Certificate, folder: Path, trust: ssl.SSLContext, name: str) -> bytes:
    """What a client receives that expects the server to have the name ``name``."""
    (folder / "server.pem").write_text(made.server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with context.wrap_socket(ours, server_side=True) as channel:
                channel.sendall(b"hello")
        except (ssl.SSLError, ConnectionError):
            ours.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with trust.wrap_socket(theirs, server_hostname=name) as channel:
            return channel.recv(5)
    finally:
        theirs.close()
        thread.join(10)


@pytest.mark.parametrize("name", ["master", "127.1.1.1"])
def test_a_client_that_trusts_it_connects(made: Certificate, tmp_path: Path, name: str) -> None:
    trust = ssl.create_default_context(cadata=made.certificate)
    assert greeting(made, tmp_path, trust, name) == b"hello"


def test_another_name_and_another_certificate_are_refused(
    made: Certificate, tmp_path: Path
) -> None:
    trust = ssl.create_default_context(cadata=made.certificate)
    with pytest.raises(ssl.SSLCertVerificationError, match="worker"):
        greeting(made, tmp_path, trust, "worker-1")
    other = ssl.create_default_context(cadata=self_signed("master", "127.1.1.1").certificate)
    with pytest.raises(ssl.SSLCertVerificationError):
        greeting(made, tmp_path, other, "master")


def test_the_trust_store_has_the_certificate_without_its_key(made: Certificate) -> None:
    found = load_pkcs12(made.trusted, b"changeit")
    (entry,) = found.additional_certs
    assert entry.certificate.public_bytes(Encoding.PEM).decode() == made.certificate
    assert found.key is None
    assert "PRIVATE KEY" in made.server
    assert "PRIVATE KEY" not in made.certificate


def test_a_jvm_uses_only_this_store() -> None:
    options = trusting(Path("/x/trusted.p12"))
    assert options[0] == "-Djavax.net.ssl.trustStore=/x/trusted.p12"
    assert not any(" " in option for option in options)
