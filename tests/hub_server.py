"""A stand-in for the hub: a server on loopback that answers what huggingface_hub asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class HubHandler(BaseHTTPRequestHandler):
    """What every such hub does; what it answers says the class that is made of it."""

    def answer(self, status: int, data: bytes, **headers: str) -> None:
        """Sends an answer; ``_`` in the names of headers stands for ``-``."""
        self.send_response(status)
        for name, text in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@contextmanager
def serving(
    handler: type[HubHandler], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> Iterator[None]:
    """Runs the server while the block runs; huggingface_hub asks it, and has an empty cache."""
    constants = pytest.importorskip("huggingface_hub.constants")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    here = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", here)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", here + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "cache"))
    yield
    server.shutdown()
    server.server_close()
    thread.join()
