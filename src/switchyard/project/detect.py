"""Detects common kinds of projects, to write a first `switchyard.toml` that works."""

import json
import re
from pathlib import Path
from typing import Any

from switchyard.config.reader import words_of
from switchyard.config.shell_syntax import shell_syntax

_MANAGERS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb", "bun"))
_HEAD = """# What runs in this project. See docs/switchyard.md for every key.
schema = 1

[project]
name = {name}
"""


def _quoted(text: str) -> str:
    return json.dumps(text)


def _env(folder: Path) -> str:
    found = [one for one in (".env", ".env.local") if (folder / one).is_file()]
    return f"\n[env]\nlink = {json.dumps(found)}\n" if found else ""


def _service(name: str, command: str, port: int | None) -> str:
    lines = [f"\n[services.{name}]", f"command = {_quoted(command)}"]
    if _needs_shell(command):
        lines.append("shell = true")
    if port is not None:
        lines.append(f"port = {port}")
    return "\n".join(lines) + "\n"


def _needs_shell(command: str) -> bool:
    try:
        return shell_syntax(words_of(command)) is not None
    except (ValueError, IndexError):
        return True


def _node(folder: Path) -> tuple[str, str] | None:
    try:
        package: dict[str, Any] = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    scripts: dict[str, Any] = package.get("scripts") or {}
    script = next((one for one in ("dev", "start", "serve") if one in scripts), None)
    if script is None:
        return None
    manager = next((name for lock, name in _MANAGERS if (folder / lock).exists()), "npm")
    command = f"{manager} run {script}"
    text = str(scripts[script])
    if re.search(r"\bvite\b", text):
        flags = "--port {port} --host {host} --strictPort"
        command += f" {'-- ' if manager == 'npm' else ''}{flags}"
        return f"{manager}, vite", _service("web", command, 5173)
    if re.search(r"\bnext\b", text):
        flags = "--port {port} --hostname {host}"
        command += f" {'-- ' if manager == 'npm' else ''}{flags}"
        return f"{manager}, next", _service("web", command, 3000)
    return f"{manager} script", _service("web", command, 3000)


def _procfile(folder: Path) -> tuple[str, str] | None:
    try:
        text = (folder / "Procfile").read_text(encoding="utf-8")
    except OSError:
        return None
    made = ""
    for match in re.finditer(r"^([A-Za-z0-9_-]+):\s*(.+)$", text, re.MULTILINE):
        name, command = match[1], re.sub(r"\$\{?PORT\}?", "{port}", match[2].strip())
        if "{port}" in command or name == "web":
            made += _service(name, command, 3000 if name == "web" else 0)
        else:
            made += _service(name, command, None)
    return ("Procfile", made) if made else None


def _python(folder: Path) -> tuple[str, str] | None:
    if (folder / "manage.py").is_file():
        return "Django", _service("web", "python manage.py runserver {host}:{port}", 8000)
    for name in ("main.py", "app.py", "app/main.py"):
        path = folder / name
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            module = name.removesuffix(".py").replace("/", ".")
            if "FastAPI(" in text or "Starlette(" in text:
                command = f"python -m uvicorn {module}:app --host {{host}} --port {{port}} --reload"
                return "FastAPI", _service("api", command, 8000)
            if "Flask(" in text:
                command = f"python -m flask --app {module} run --host {{host}} --port {{port}}"
                return "Flask", _service("web", command, 5000)
    return None


def _others(folder: Path) -> tuple[str, str] | None:
    if (folder / "bin" / "rails").is_file():
        return "Rails", _service("web", "bin/rails server -b {host} -p {port}", 3000)
    if (folder / "go.mod").is_file():
        return "Go", _service("app", "go run .", 8080)
    if (folder / "Cargo.toml").is_file():
        return "Cargo", _service("app", "cargo run", 8080)
    return None


def detect(folder: Path) -> tuple[str, str]:
    """What kind of project this is, and a configuration for it."""
    head = _HEAD.format(name=_quoted(folder.name or "project")) + _env(folder)
    for look in (_procfile, _node, _python, _others):
        found = look(folder)
        if found:
            return found[0], head + found[1]
    command = "python -m http.server {port} --bind {host}"
    return "static files", head + _service("web", command, 8000)
