"""Secrets in settings: names and values that must appear in no file and on no screen.

The names extend Hadoop's own list (``hadoop.security.sensitive-config-keys``).
"""

from __future__ import annotations

import functools
import re

MASK = "(not shown: secret)"

_NAMES = re.compile(
    r"passw|passphrase|passwd|pwd|secret|credential|token|private|access[._-]?key|account\.key|"
    r"api[._-]?key|encryption[._-]?key|encryption\.(?!algorithm)|shared[._-]?key|auth[._-]?key|"
    r"sas[._-]|jceks|keystore\.pass|\bkey\.(?!class|field|comparator)|signature",
    re.IGNORECASE,
)
# an authentication of ZooKeeper: digest:USER:PASSWORD, or @FILE
_ZOOKEEPER = re.compile(r"(zk|zookeeper)[._-]auth$", re.IGNORECASE)
_PLACE = re.compile(r"/|@|file:|(local)?jceks:|user:///|[a-z]\w*(\.[a-z]\w*)+\.[A-Z]\w*")
_HARMLESS = re.compile(r"(true|false|)", re.IGNORECASE)
_DURATION_NAMES = re.compile(
    r"(interval|lifetime|expiry|timeout|renew|retention|validity|max-?life|delay|-(ms|secs?|days))"
    r"([._-][a-z]+)*$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+[smhd]?")
# a secret inside another value: of an option, a URL, a connection string, a key block
_OPTION = re.compile(
    r"(?P<lead>[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|pwd|access[._-]?key|account[._-]?key|"
    r"api[._-]?key|sig)[\w.-]*\s*[=:]\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s;&,]+)",
    re.IGNORECASE,
)
# not the digest of a container image, and not the entry of an ACL: its last field is permissions,
# and it contains only a hash
_DIGEST = re.compile(
    r"(?P<lead>\bdigest:(?!sha\d+:|md5:)[^\s:,]+:)(?!\(not shown|[A-Za-z0-9+/]{27}=:[cdrwa]+\b)"
    r"(?P<value>[^\s,\"'<>]+)"
)
_USERINFO = re.compile(r"(?P<lead>[a-z][a-z0-9+.-]*://[^/\s:@]*:)(?P<value>[^@\s/]+)(?=@)", re.I)
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_AWS = re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b")
_BEARER = re.compile(r"\b(Bearer|Basic|Negotiate)\s+[A-Za-z0-9+/=._-]{8,}", re.IGNORECASE)


# A job has about 1,500 settings, and most are equal in thousands of jobs: each is examined once.
@functools.lru_cache(maxsize=1 << 15)
def is_secret(name: str, value: str = "?") -> bool:
    """Whether the value of a setting must not be shown: its name names a secret.

    A switch, and a number of a duration such as a token's lifetime, is no secret.
    """
    if authenticates_zookeeper(name):
        return not names_a_file(name, value) and bool(value)
    if not _NAMES.search(name) or _HARMLESS.fullmatch(value):
        return False
    return not (_DURATION_NAMES.search(name) and _NUMBER.fullmatch(value))


def holds_secret(name: str, value: str) -> bool:
    """Whether a setting has a secret itself, and not a path, a provider or a class of one."""
    return is_secret(name, value) and not name.endswith("provider") and not _PLACE.match(value)


def names_a_file(name: str, value: str) -> bool:
    """Whether a value is not the authentication of ZooKeeper but the file with it (``@FILE``)."""
    return value.startswith("@") and authenticates_zookeeper(name)


def authenticates_zookeeper(name: str) -> bool:
    """Whether a setting has the user and the password with which a client uses ZooKeeper."""
    return bool(_ZOOKEEPER.search(name))


def masked(name: str, value: str) -> str:
    """The value of a setting without its secrets."""
    return MASK if is_secret(name, value) else masked_text(value)


@functools.lru_cache(maxsize=1 << 15)
def masked_text(text: str) -> str:
    """A text without the secrets in it: options, URLs with passwords, keys."""
    text = _KEY_BLOCK.sub(MASK, text)
    for pattern in (_USERINFO, _OPTION, _DIGEST):
        text = pattern.sub(lambda found: f"{found['lead']}{MASK}", text)
    text = _BEARER.sub(lambda found: f"{found[1]} {MASK}", text)
    return _AWS.sub(MASK, text)
