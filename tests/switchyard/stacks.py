"""The examples with real programs, each copied into a repository of its own for a test."""

import http.client
import json
import re
import shutil
from pathlib import Path

from yardlab import Json, Lab, free_port

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tests" / "node" / "node_modules"


def copied(lab: Lab, name: str) -> dict[int, int]:
    """Make the lab's project one of the examples; free ports by the canonical ones they are for."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    shutil.copytree(ROOT / "examples" / name, lab.root, dirs_exist_ok=True, ignore=ignored)
    (lab.root / ".gitignore").write_text("node_modules\n__pycache__\n")
    path = lab.root / "switchyard.toml"
    text, ports = path.read_text(), dict[int, int]()
    for found in map(int, re.findall(r"(?m)^port = (\d+)$", text)):
        ports[found] = free_port()
        text = text.replace(f"\nport = {found}\n", f"\nport = {ports[found]}\n")
    path.write_text(f"{text}\n[proxy]\nport = {lab.proxy_port}\n")
    lab.env["PYTHONDONTWRITEBYTECODE"] = "1"
    lab.repository()
    return ports


def with_vite(lab: Lab) -> None:
    """Install the packages of the example, as links to those that tests have."""
    (lab.root / "node_modules" / ".bin").mkdir(parents=True)
    (lab.root / "node_modules" / "vite").symlink_to(PACKAGES / "vite")
    (lab.root / "node_modules" / ".bin" / "vite").symlink_to("../vite/bin/vite.js")


def ask(port: int, path: str, body: Json | str | None = None) -> str:
    """Ask over HTTP, with a body as a POST."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        if body is None:
            client.request("GET", path)
        elif isinstance(body, str):
            client.request("POST", path, body)
        else:
            client.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return client.getresponse().read().decode()
    finally:
        client.close()
