"""A file server in memory, with the operations of WebHDFS that Windtunnel's own server has."""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

_ROOT = "/webhdfs/v1"


class WebFiles:
    """``files`` maps paths to contents; ``replication`` is that of every file.

    ``refused`` is the text of the error with which all requests fail; empty: they succeed.
    """

    def __init__(self, replication: int = 1) -> None:
        self.files: dict[str, bytes] = {}
        self.replication = replication
        self.refused = ""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            do_PUT = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *args: Any) -> None:
                """Print nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = ("127.0.0.1", int(self._server.server_address[1]))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        path = parts.path.removeprefix(_ROOT).rstrip("/")
        operation = parse_qs(parts.query)["op"][0]
        content = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        code, body = self._result(operation, path, content)
        request.send_response(code)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _result(self, operation: str, path: str, content: bytes) -> tuple[int, bytes]:
        if self.refused:
            return 500, self.refused.encode()
        found: bytes | None = getattr(self, f"_{operation.lower()}")(path, content)
        return (404, b"") if found is None else (200, found)

    def _liststatus(self, path: str, _: bytes) -> bytes:
        below = [name[len(path) + 1 :] for name in self.files if name.startswith(f"{path}/")]
        entries: dict[str, dict[str, str | int]] = {}
        for name in below:
            first, _slash, rest = name.partition("/")
            entries[first] = {
                "pathSuffix": first,
                "length": len(self.files.get(f"{path}/{first}", b"")),
                "replication": self.replication,
                "type": "DIRECTORY" if rest else "FILE",
            }
        return json.dumps({"FileStatuses": {"FileStatus": list(entries.values())}}).encode()

    def _open(self, path: str, _: bytes) -> bytes | None:
        return self.files.get(path)

    def _create(self, path: str, content: bytes) -> bytes:
        self.files[path] = content
        return b""

    def _delete(self, path: str, _: bytes) -> bytes:
        gone = [name for name in self.files if f"{name}/".startswith(f"{path}/")]
        for name in gone:
            del self.files[name]
        return json.dumps({"boolean": bool(gone)}).encode()
