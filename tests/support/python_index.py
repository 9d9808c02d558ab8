"""An index of Python packages on loopback, with one small server, and wheels made by hand."""

import base64
import hashlib
import io
import threading
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.workspace import CHILDREN

NAME, VERSION = "hello-mcp", "1.0.0"


class Wheel:
    """A package of one module, whose `main` is the program of its name."""

    def __init__(self, name: str, program: str) -> None:
        module = name.replace("-", "_")
        about = f"{module}-{VERSION}.dist-info"
        self.metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n"
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
        return f'<a href="{href}" data-core-metadata="true">{self.file}</a>'.encode()


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
def python_index() -> Generator[PythonIndex]:
    """An index for as long as the block lasts."""
    wheel = Wheel(NAME, (CHILDREN / "hello_child.py").read_text("utf-8"))
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if self.path.endswith(wheel.file):
                self._answer(wheel.content, "application/octet-stream")
            elif self.path.endswith(f"{wheel.file}.metadata"):
                self._answer(wheel.metadata.encode(), "text/plain")
            elif self.path.strip("/") == f"simple/{NAME}":
                self._answer(wheel.page(url), "text/html")
            else:
                self._answer(b"there is none", "text/plain", status=404)

        def _answer(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Tests look at `asked`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        try:
            yield PythonIndex(url, asked)
        finally:
            listener.shutdown()
            thread.join()
