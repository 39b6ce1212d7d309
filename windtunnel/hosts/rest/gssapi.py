"""SPNEGO tokens by the system's Kerberos library, through ctypes.

The Python packages for GSS-API need a C compiler. The few functions of the library that a client
needs are stable: RFC 2744 (C bindings), RFC 4178 (SPNEGO), MIT Kerberos' ``gssapi_ext.h``
(``gss_acquire_cred_from``).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

_HOSTBASED = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"  # 1.2.840.113554.1.2.1.4
_KRB5_NAME = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01"  # 1.2.840.113554.1.2.2.1
_KRB5 = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"  # 1.2.840.113554.1.2.2
_SPNEGO = b"\x2b\x06\x01\x05\x05\x02"  # 1.3.6.1.5.5.2
_MUTUAL = 2
_INITIATE = 1
_CONTINUE = 1
_FAILED = 0xFFFF0000  # the bits of errors in a major status
_LOCK = threading.Lock()


class GssError(Exception):
    """A Kerberos function failed; the text is that of the library."""


class NoLibraryError(Exception):
    """The machine has no Kerberos library."""


class _Buffer(ctypes.Structure):
    _fields_ = (("length", ctypes.c_size_t), ("value", ctypes.c_void_p))

    def take(self) -> bytes:
        return ctypes.string_at(self.value, self.length) if self.length and self.value else b""


class _Oid(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint32), ("elements", ctypes.c_char_p))


class _OidSet(ctypes.Structure):
    _fields_ = (("count", ctypes.c_size_t), ("elements", ctypes.POINTER(_Oid)))


class _Pair(ctypes.Structure):
    _fields_ = (("key", ctypes.c_char_p), ("value", ctypes.c_char_p))


class _Store(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint32), ("elements", ctypes.POINTER(_Pair)))


def _oid(encoded: bytes) -> _Oid:
    return _Oid(len(encoded), encoded)


@cache
def _library() -> ctypes.CDLL:
    """MIT Kerberos' library (Linux: ``libgssapi_krb5.so.2``, a part of every Kerberos client)."""
    for name in ("libgssapi_krb5.so.2", ctypes.util.find_library("gssapi_krb5")):
        if name is not None:
            try:
                loaded = ctypes.CDLL(name)
            except OSError:
                continue
            for function in (
                "gss_import_name",
                "gss_acquire_cred_from",
                "gss_init_sec_context",
                "gss_display_status",
            ):
                getattr(loaded, function).restype = ctypes.c_uint32
            return loaded
    raise NoLibraryError


def _call(function: str, *arguments: object) -> int:
    """Call a function with a minor status first; return the major status, or raise GssError."""
    minor = ctypes.c_uint32(0)
    major = int(getattr(_library(), function)(ctypes.byref(minor), *arguments))
    if major & _FAILED:
        texts = [_text(major, 1), _text(minor.value, 2)]
        raise GssError("; ".join(text for text in texts if text))
    return major


def _text(status: int, kind: int) -> str:
    """The library's text of a status: ``kind`` 1 is a major, 2 a minor one."""
    minor, more, text = ctypes.c_uint32(0), ctypes.c_uint32(0), _Buffer()
    failed = _library().gss_display_status(
        ctypes.byref(minor),
        ctypes.c_uint32(status),
        ctypes.c_int(kind),
        None,
        ctypes.byref(more),
        ctypes.byref(text),
    )
    if failed:
        return ""
    found = text.take().decode(errors="replace")
    _library().gss_release_buffer(ctypes.byref(minor), ctypes.byref(text))
    return found


def _name(text: str, kind: bytes) -> ctypes.c_void_p:
    name, encoded, oid = ctypes.c_void_p(), text.encode(), _oid(kind)
    buffer = _Buffer(len(encoded), ctypes.cast(ctypes.c_char_p(encoded), ctypes.c_void_p))
    _call("gss_import_name", ctypes.byref(buffer), ctypes.byref(oid), ctypes.byref(name))
    return name


class Credentials:
    """Where the tickets come from; None for the default of the library.

    Parameters
    ----------
    keytab, principal:
        Key table and the principal of its key. The library requests a ticket, keeps it in memory,
        and requests a new one before it expires.
    ticket_cache:
        Name of a ticket cache.
    krb5_conf:
        Path of a Kerberos configuration.
    """

    def __init__(
        self,
        keytab: str | None = None,
        principal: str | None = None,
        ticket_cache: str | None = None,
        krb5_conf: str | None = None,
    ) -> None:
        self._principal = principal
        self._krb5_conf = krb5_conf
        pairs = []
        if keytab is not None:
            pairs = [("client_keytab", keytab), ("ccache", f"MEMORY:{uuid.uuid4().hex}")]
        elif ticket_cache is not None:
            pairs = [("ccache", ticket_cache)]
        self._pairs = (_Pair * len(pairs))(*(_Pair(k.encode(), v.encode()) for k, v in pairs))

    def token(self, host: str) -> tuple[bytes, Callable[[bytes], None]]:
        """The first token for ``HTTP@host``, and a function that checks the server's answer.

        Only the owner of the service's key can make the answer.

        Raises
        ------
        GssError
            No ticket, and so on; the text is that of the library.
        NoLibraryError
            There is no Kerberos library.
        """
        # the state of the library, and the cache in memory, are shared
        with _LOCK, _configured(self._krb5_conf):
            try:
                context, token = self._first(host, _SPNEGO)
            except GssError:
                # SPNEGO states only that no mechanism worked; Kerberos itself states why
                context, token = self._first(host, _KRB5)

        def finish(received: bytes) -> None:
            with _LOCK, _configured(self._krb5_conf):
                context.step(received)

        return token, finish

    def _first(self, host: str, mechanism: bytes) -> tuple[_Context, bytes]:
        credential = self._acquire(mechanism) if self._pairs else None
        context = _Context(host, credential, mechanism)
        return context, context.step(b"")

    def _acquire(self, mechanism: bytes) -> ctypes.c_void_p:
        store = _Store(len(self._pairs), self._pairs)
        name = None if self._principal is None else _name(self._principal, _KRB5_NAME)
        oid, credential = _oid(mechanism), ctypes.c_void_p()
        mechanisms = _OidSet(1, ctypes.pointer(oid))
        try:
            _call(
                "gss_acquire_cred_from",
                name,
                ctypes.c_uint32(0),
                ctypes.byref(mechanisms),
                ctypes.c_int(_INITIATE),
                ctypes.byref(store),
                ctypes.byref(credential),
                None,
                None,
            )
        finally:
            if name is not None:
                _call("gss_release_name", ctypes.byref(name))
        return credential


@contextmanager
def _configured(krb5_conf: str | None) -> Iterator[None]:
    """The library reads ``KRB5_CONFIG`` at each call, and has no parameter for it."""
    before = os.environ.get("KRB5_CONFIG")
    if krb5_conf is not None:
        os.environ["KRB5_CONFIG"] = krb5_conf
    try:
        yield
    finally:
        if before is not None:
            os.environ["KRB5_CONFIG"] = before
        elif krb5_conf is not None:
            del os.environ["KRB5_CONFIG"]


class _Context:
    """One authentication to a server."""

    def __init__(self, host: str, credential: ctypes.c_void_p | None, mechanism: bytes) -> None:
        self._mechanism = mechanism
        self._credential = credential
        self._context = ctypes.c_void_p()
        self._target: ctypes.c_void_p | None = None  # __del__ also runs if the next line raises
        self._target = _name(f"HTTP@{host}", _HOSTBASED)

    def step(self, received: bytes) -> bytes:
        """The next token for the server, empty if there is none."""
        oid, produced = _oid(self._mechanism), _Buffer()
        given = _Buffer(
            len(received), ctypes.cast(ctypes.c_char_p(received or None), ctypes.c_void_p)
        )
        _call(
            "gss_init_sec_context",
            self._credential,
            ctypes.byref(self._context),
            self._target,
            ctypes.byref(oid),
            ctypes.c_uint32(_MUTUAL),
            ctypes.c_uint32(0),
            None,
            ctypes.byref(given),
            None,
            ctypes.byref(produced),
            None,
            None,
        )
        token = produced.take()
        _call("gss_release_buffer", ctypes.byref(produced))
        return token

    def __del__(self) -> None:
        with suppress(NoLibraryError):
            self._release(_library())

    def _release(self, library: ctypes.CDLL) -> None:
        minor = ctypes.c_uint32(0)
        if self._context:
            library.gss_delete_sec_context(ctypes.byref(minor), ctypes.byref(self._context), None)
        if self._target:
            library.gss_release_name(ctypes.byref(minor), ctypes.byref(self._target))
        if self._credential:
            library.gss_release_cred(ctypes.byref(minor), ctypes.byref(self._credential))
