"""An index of Python packages on loopback, with one small server, and wheels made by hand."""

import base64
import hashlib
import html
import io
import ssl
import threading
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.workspace import CHILDREN

NAME, VERSION = "hello-mcp", "1.0.0"
# The same for a Python that there is not yet.
TOO_NEW = "late-mcp"


class Wheel:
    """A package of one module, whose `main` is the program of its name."""

    def __init__(self, name: str, program: str, python: str = ">=3.8") -> None:
        module = name.replace("-", "_")
        about = f"{module}-{VERSION}.dist-info"
        self.python = python
        self.metadata = (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\nRequires-Python: {python}\n"
        )
        files = {
            f"{module}.py": program,
            f"{about}/METADATA": self.metadata,
            f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{about}/entry_points.txt": f"[console_scripts]\n{name} = {module}:main\n",
        }
        listed = [f"{path},{_digest(text)},{len(text)}" for path, text in files.items()]
        files[f"{about}/RECORD"] = "\n".join([*listed, f"{about}/RECORD,,", ""])
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        self.file = f"{module}-{VERSION}-py3-none-any.whl"
        self.content = made.getvalue()

    def page(self, base: str) -> bytes:
        """What an index says of it whose files are at an address."""
        digest = hashlib.sha256(self.content).hexdigest()
        href = f"{base}/{self.file}#sha256={digest}"
        needs = f'data-core-metadata="true" data-requires-python="{html.escape(self.python)}"'
        return f'<a href="{href}" {needs}>{self.file}</a>'.encode()


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


class PythonIndex:
    """Where it listens, and what was asked for, in order."""

    def __init__(self, url: str, asked: list[str]) -> None:
        self.url = url
        self.asked = asked

    @property
    def downloads(self) -> int:
        """How many times the package itself was fetched."""
        return sum(path.endswith(".whl") for path in self.asked)


@contextmanager
def python_index(tls: ssl.SSLContext | None = None) -> Generator[PythonIndex]:
    """An index for as long as the block lasts, encrypted where that is given."""
    program = (CHILDREN / "hello_child.py").read_text("utf-8")
    wheels = {NAME: Wheel(NAME, program), TOO_NEW: Wheel(TOO_NEW, program, ">=3.99")}
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            name = self.path.strip("/").removeprefix("simple/")
            if name in wheels:
                self._answer(wheels[name].page(url), "text/html")
                return
            for wheel in wheels.values():
                if self.path.endswith(wheel.file):
                    self._answer(wheel.content, "application/octet-stream")
                    return
                if self.path.endswith(f"{wheel.file}.metadata"):
                    self._answer(wheel.metadata.encode(), "text/plain")
                    return
            self._answer(b"there is none", "text/plain", status=404)

        def _answer(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Tests look at `asked`."""

    class Listener(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Clients leave that do not believe our certificate."""

    with Listener(("127.0.0.1", 0), Handler) as listener:
        if tls is not None:
            listener.socket = tls.wrap_socket(
                listener.socket, server_side=True, do_handshake_on_connect=False
            )
        scheme = "http" if tls is None else "https"
        url = f"{scheme}://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        try:
            yield PythonIndex(url, asked)
        finally:
            listener.shutdown()
            thread.join()
