"""Folders that hold one program: which it is, and how it is started on a port of its own."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from switchyard.project.detection.drafts import DetectedPart, Draft, service_name, table

_MANAGERS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb", "bun"))
# How a dev server is told its port: what its script says, the flags, the port people are used to.
_DEV_SERVERS = (
    ("vite", "--port {port} --host {host} --strictPort", 5173),
    ("next", "--port {port} --hostname {host}", 3000),
    ("astro", "--port {port} --host {host}", 4321),
    ("nuxt", "--port {port} --host {host}", 3000),
    ("ng serve", "--port {port} --host {host}", 4200),
)
_SERVES = r"uvicorn\.run|\.serve_forever|\bapp\.run\(|hypercorn|waitress|aiohttp\.web|run_app\("


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def package(folder: Path) -> dict[str, Any]:
    """The `package.json` of a folder, or nothing."""
    try:
        found: Any = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table(found)


def node(folder: Path, root: Path) -> DetectedPart | None:
    """A script of `package.json`, run by the manager whose lock file is at the root."""
    scripts = table(package(folder).get("scripts"))
    script = next((one for one in ("dev", "start", "serve") if one in scripts), None)
    if script is None:
        return None
    manager = next((name for lock, name in _MANAGERS if (root / lock).exists()), "npm")
    command, text = f"{manager} run {script}", str(scripts[script])
    for word, flags, port in _DEV_SERVERS:
        if word in text if " " in word else word in re.findall(r"[\w.-]+", text):
            command += f" {'-- ' if manager == 'npm' else ''}{flags}"
            return DetectedPart(f"{manager}, {word.split()[0]}", (Draft("web", command, port),))
    return DetectedPart(
        f"{manager} script", (Draft("web", command, 3000 if _asks_port(folder, text) else None),)
    )


def _asks_port(folder: Path, script: str) -> bool:
    """Whether the script, or a file that it names, listens on the port in `PORT`."""
    if re.search(r"\bPORT\b|react-scripts start", script):
        return True
    named = [word for word in script.split() if re.search(r"\.[cm]?[jt]sx?$", word)]
    return any("env.PORT" in _text(folder / one) for one in named)


def python(folder: Path) -> DetectedPart | None:
    """Django, FastAPI, Flask, or a script of `pyproject.toml` that serves something."""
    if (folder / "manage.py").is_file():
        command = "python manage.py runserver {host}:{port}"
        return DetectedPart("Django", (Draft("web", command, 8000),))
    for name in ("main.py", "app.py", "app/main.py", "src/main.py"):
        text = _text(folder / name)
        module = name.removesuffix(".py").replace("/", ".")
        if found := re.search(r"^(\w+)\s*=\s*(?:FastAPI|Starlette)\(", text, re.MULTILINE):
            app = f"{module}:{found[1]}"
            command = f"python -m uvicorn {app} --host {{host}} --port {{port}} --reload"
            return DetectedPart("FastAPI", (Draft("api", command, 8000),))
        if re.search(r"\bFlask\(", text):
            command = f"python -m flask --app {module} run --host {{host}} --port {{port}}"
            return DetectedPart("Flask", (Draft("web", command, 5000),))
    return _pyproject(folder)


def _pyproject(folder: Path) -> DetectedPart | None:
    try:
        read = table(tomllib.loads(_text(folder / "pyproject.toml")))
    except tomllib.TOMLDecodeError:
        return None
    poetry = table(table(read.get("tool")).get("poetry"))
    scripts = {**table(poetry.get("scripts")), **table(table(read.get("project")).get("scripts"))}
    made: list[Draft] = []
    notes: list[str] = []
    for name, target in scripts.items():
        module, _, function = str(target).partition(":")
        text = _module_text(folder, module)
        if re.search(_SERVES, text):
            made.append(
                Draft(
                    service_name(name),
                    _script_command(folder, name, module, function),
                    0 if re.search(r"""["']PORT["']""", text) else None,
                )
            )
        else:
            notes.append(f"the script `{name}` does not seem to serve anything, and was left out")
    return DetectedPart("pyproject scripts", tuple(made), tuple(notes)) if made or notes else None


def _module_text(folder: Path, module: str) -> str:
    path = module.replace(".", "/")
    places = [f"{base}{path}{end}" for base in ("", "src/") for end in (".py", "/__init__.py")]
    return "".join(_text(folder / one) for one in places)


def _script_command(folder: Path, name: str, module: str, function: str) -> str:
    """How the script is run here: by the manager that keeps its environment, or by hand."""
    if (folder / "uv.lock").is_file():
        return f"uv run {name}"
    if (folder / "poetry.lock").is_file():
        return f"poetry run {name}"
    if (folder / ".venv/bin" / name).is_file():
        return f".venv/bin/{name}"
    path = "sys.path.insert(0, 'src'); " if (folder / "src").is_dir() else ""
    return f'python -c "import sys; {path}from {module} import {function}; sys.exit({function}())"'


def others(folder: Path) -> DetectedPart | None:
    """Rails, Go and Cargo."""
    if (folder / "bin" / "rails").is_file():
        return DetectedPart("Rails", (Draft("web", "bin/rails server -b {host} -p {port}", 3000),))
    if (folder / "go.mod").is_file():
        return DetectedPart("Go", (Draft("app", "go run .", _listening_port(folder, "*.go")),))
    if (folder / "Cargo.toml").is_file():
        return DetectedPart(
            "Cargo", (Draft("app", "cargo run", _listening_port(folder, "src/*.rs")),)
        )
    return None


def _listening_port(folder: Path, sources: str) -> int | None:
    """The usual port where the program asks for the one it is given; without it none is awaited."""
    asks = any('"PORT"' in _text(path) for path in sorted(folder.glob(sources))[:50])
    return 8080 if asks else None
