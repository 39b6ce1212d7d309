"""A web server on loopback that answers as a test says."""

from __future__ import annotations

import contextlib
import http.server
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Request:
    """What a client sent."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass
class Reply:
    """What the server sends; ``body`` that is not bytes is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)

    def content(self) -> tuple[bytes, str]:
        if isinstance(self.body, bytes):
            return self.body, "application/octet-stream"
        if isinstance(self.body, str):
            return self.body.encode(), "text/html"
        return json.dumps(self.body).encode(), "application/json"


@contextlib.contextmanager
def serving(answer: Callable[[Request], Reply], certificate: Path | None = None) -> Iterator[str]:
    """The URL of a server on ``localhost``; with a PEM file of key and certificate, by TLS."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _reply(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            made = answer(Request(self.command, parts.path, query, dict(self.headers), body))
            content, kind = made.content()
            self.send_response(made.status)
            for name, value in made.headers:
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = _reply  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    scheme = "http"
    if certificate is not None:
        scheme = "https"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"{scheme}://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def certificate(folder: Path, *names: str) -> Path:
    """A PEM file with a key and a self-signed certificate for the names."""
    file = folder / f"{names[0]}.pem"
    alternatives = ",".join(f"DNS:{name}" for name in names)
    command = (
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 "
        f"-subj /CN={names[0]} -keyout {file} -out {file}.crt -addext subjectAltName={alternatives}"
    )
    subprocess.run(command.split(), check=True, capture_output=True, timeout=60)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file
