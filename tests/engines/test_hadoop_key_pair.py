"""The kept key pair of the ResourceManager's certificate authority."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.hadoop.key_pair import keep_key, kept_key, use_key
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.engines.java import bundled_home

POLICY = "yarn.resourcemanager.application-https.policy"
# of a DER file with an RSA key of 2,048 bits: the modulus follows
_BEFORE_MODULUS = b"\x02\x82\x01\x01\x00"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


def host(folder: Path) -> Any:
    folder.mkdir()
    return SimpleNamespace(
        root=folder,
        write_bytes=lambda path, data: path.write_bytes(data),
        write_text=lambda path, text: path.write_text(text),
    )


def software(home: Path | None = None) -> Any:
    return SimpleNamespace(java=(home or bundled_home()) / "bin" / "java")


def key_of_certificate(made: Any, options: tuple[str, ...], bits: int = 2048) -> bytes:
    """The modulus that Java's own key tool gets with these options, as a ResourceManager would."""
    store = ["-keystore", str(made.root / "store"), "-storepass", "secret"]
    generate = ["-genkeypair", "-keyalg", "RSA", "-keysize", str(bits), "-dname", "CN=a"]
    for words in (generate, ["-exportcert", "-file", str(made.root / "certificate")]):
        subprocess.run(
            [
                str(software().java),
                *options,
                "-cp",
                str(OWN_JAR),
                "sun.security.tools.keytool.Main",
                *words,
                *store,
            ],
            check=True,
            capture_output=True,
        )
    return modulus((made.root / "certificate").read_bytes())


def modulus(der: bytes) -> bytes:
    return der.partition(_BEFORE_MODULUS)[2][:256]


def test_the_first_generates_a_key_and_later_ones_use_it(tmp_path: Path) -> None:
    first = host(tmp_path / "first")
    options = use_key(first, software(), {})
    used = key_of_certificate(first, options)
    keep_key(first)

    assert modulus(kept_key().read_bytes()) == used != b""
    assert kept_key().parent.stat().st_mode & 0o077 == 0
    second = host(tmp_path / "second")
    assert key_of_certificate(second, use_key(second, software(), {})) == used


def test_a_key_of_another_length_and_a_damaged_one_are_not_used(tmp_path: Path) -> None:
    kept_key().parent.mkdir(parents=True)
    kept_key().write_bytes(b"damaged")
    made = host(tmp_path / "damaged")
    options = use_key(made, software(), {})
    fresh = key_of_certificate(made, options)
    written = (made.root / "resourcemanager-key.der").read_bytes()

    assert modulus(written) == fresh != b""
    (made.root / "store").unlink()
    longer = key_of_certificate(made, options, bits=3072)
    assert longer != fresh
    assert (made.root / "resourcemanager-key.der").read_bytes() != written


def test_with_https_every_resourcemanager_has_its_own(tmp_path: Path) -> None:
    assert use_key(host(tmp_path / "host"), software(), {POLICY: "STRICT"}) == ()


def test_an_unknown_runtime_generates_its_own(tmp_path: Path) -> None:
    assert use_key(host(tmp_path / "host"), software(tmp_path), {}) == ()


def test_a_kept_key_stays_and_nothing_strange_is_kept(tmp_path: Path) -> None:
    made = host(tmp_path / "host")
    keep_key(made)
    assert not kept_key().exists()

    key = made.root / "resourcemanager-key.der"
    key.symlink_to("/etc/hostname")
    keep_key(made)
    key.unlink()
    key.write_bytes(b"x" * 10_000)
    keep_key(made)
    assert not kept_key().exists()

    key.write_bytes(b"first")
    keep_key(made)
    key.write_bytes(b"second")
    keep_key(made)
    assert kept_key().read_bytes() == b"first"
