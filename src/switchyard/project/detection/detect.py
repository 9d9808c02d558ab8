"""Writes a first `switchyard.toml` that works, from what a project's files say."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

from switchyard.core.environ import caller, on_path
from switchyard.project.detection.drafts import DetectedPart, Draft, quoted, service_name, written
from switchyard.project.detection.listings import compose, process_compose, procfile
from switchyard.project.detection.plain_yaml import NotPlainYaml, read_plain_yaml
from switchyard.project.detection.programs import node, others, package, python

_HEAD = """# What Switchyard runs here. Its documentation has every key, on the page "Services".
schema = 1

[project]
name = {name}
"""
_MOST_FOLDERS = 200
_NO_PARTS = ("node_modules", "vendor", "dist", "build", "docs", "test", "tests", "examples")


class Detected(NamedTuple):
    """What was recognised, the file for it, and what a person should know of both."""

    kind: str
    toml: str
    notes: tuple[str, ...]


def _env(folder: Path) -> str:
    found = [one for one in (".env", ".env.local") if (folder / one).is_file()]
    return f"\n[env]\nlink = {json.dumps(found)}\n" if found else ""


def _program(folder: Path, root: Path) -> DetectedPart | None:
    return node(folder, root) or python(folder) or others(folder)


def _workspaces(folder: Path) -> list[Path]:
    """The packages of a workspace, by the patterns of npm, yarn and pnpm."""
    given: Any = package(folder).get("workspaces")
    if isinstance(given, dict):
        given = cast("dict[str, Any]", given).get("packages")
    if (folder / "pnpm-workspace.yaml").is_file():
        try:
            given = read_plain_yaml(folder / "pnpm-workspace.yaml").get("packages")
        except (NotPlainYaml, AttributeError):
            given = None
    patterns = [str(one) for one in cast("list[Any]", given)] if isinstance(given, list) else []
    found: list[Path] = []
    for one in patterns:
        if not one.startswith(("!", "/")) and ".." not in one:
            found += sorted(path for path in folder.glob(one.rstrip("/")) if path.is_dir())
    return [path for path in dict.fromkeys(found) if "node_modules" not in path.parts]


def _parts(folder: Path) -> list[Path]:
    """Folders that may hold a program each: those of a workspace, or all near the root."""
    found = _workspaces(folder)
    if found:
        return found[:_MOST_FOLDERS]
    near = [one for one in sorted(folder.iterdir()) if one.is_dir() and not one.is_symlink()]
    near = [one for one in near if not one.name.startswith(".") and one.name not in _NO_PARTS]
    deeper = [
        two
        for one in near
        if one.name in ("apps", "packages", "services")
        for two in sorted(one.iterdir())
        if two.is_dir()
    ]
    return [*near, *deeper][:_MOST_FOLDERS]


def _placed(found: DetectedPart, part: Path, root: Path) -> DetectedPart:
    """The services of a folder below the root, named by it."""
    cwd = part.relative_to(root).as_posix()
    several = len(found.drafts) > 1
    name = service_name(part.name)
    drafts = tuple(
        one._replace(name=f"{name}-{one.name}" if several else name, cwd=cwd)
        for one in found.drafts
    )
    return DetectedPart(f"{found.kind} in {cwd}", drafts, found.notes)


def _all_found(folder: Path) -> list[DetectedPart]:
    """What the project lists itself, or else every program in it, with its containers."""
    listed = procfile(folder) or process_compose(folder)
    if listed and listed.drafts:
        return [listed]
    made = [one for one in (listed, compose(folder), _program(folder, folder)) if one]
    for part in _parts(folder):
        found = _program(part, folder)
        if found and found.drafts:
            made.append(_placed(found, part, folder))
    return made


def _distinct(drafts: Iterable[Draft]) -> list[Draft]:
    """The services with names and canonical ports that none shares with another."""
    names: set[str] = set()
    ports: set[int] = set()
    made: list[Draft] = []
    for draft in drafts:
        name, number = draft.name, 2
        while name in names:
            name, number = f"{draft.name}-{number}", number + 1
        port = draft.port
        while port and port in ports:
            port += 1
        names.add(name)
        ports |= {port} if port else set()
        made.append(draft._replace(name=name, port=port))
    return made


def _missing_programs(drafts: Iterable[Draft]) -> list[str]:
    path = caller().get("PATH", "")
    programs = {one.command.split()[0]: one.name for one in reversed(list(drafts))}
    return [
        f"`{program}`, which `{name}` needs, is not installed here"
        for program, name in programs.items()
        if program.isalnum() and program != "cd" and on_path(program, path) is None
    ]


def detect(folder: Path) -> Detected:
    """What kind of project this is, and a configuration for it."""
    head = _HEAD.format(name=quoted(folder.name or "project")) + _env(folder)
    found = _all_found(folder)
    drafts = _distinct(one for each in found for one in each.drafts)
    notes = [note for each in found for note in each.notes]
    if not drafts:
        command = "python -m http.server {port} --bind {host}"
        drafts, kinds = [Draft("web", command, 8000)], ["static files"]
    else:
        kinds = [each.kind for each in found if each.drafts]
        notes += _missing_programs(one for one in drafts if one.command.split()[0] != "python")
    toml = head + "".join(map(written, drafts))
    return Detected("; ".join(kinds), toml, tuple(notes))
