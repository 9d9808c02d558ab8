"""The registry of the home: project aliases, projects and their worktrees.

Reading never writes. A corrupt file is set aside, and rebuilt from the projects' own copies.
"""

import contextlib
import json
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

from switchkit.files import make_private_folder
from switchkit.locks import FileLock
from switchkit.platform.files import folder_identity
from switchkit.platform.paths import true_folder
from switchyard.core.fault import YardFault
from switchyard.core.slugs import MAX_LABEL, digest, slug
from switchyard.files import read_json, write_json
from switchyard.project.home import Home, ProjectPlaces, check_disk

VERSION = 1
# How long the part of a digest may become that tells two projects of one name apart.
_SUFFIXES = (4, 8, 16)


class Worktree(NamedTuple):
    """A worktree the yard knows."""

    branch: str
    slug: str
    path: Path
    managed: bool
    created_at: float

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "slug": self.slug,
            "path": str(self.path),
            "managed": self.managed,
            "created_at": self.created_at,
        }


class Registration(NamedTuple):
    """A project the yard knows."""

    root: Path
    name: str
    folder: str
    worktrees: tuple[Worktree, ...]
    slug: str
    """Its part of the names of its services; no other project of the home has it."""
    identity: str = ""
    """What tells the folder of the project from any other, wherever it is moved."""

    def worktree(self, branch: str) -> Worktree | None:
        """The worktree of this branch."""
        return next((one for one in self.worktrees if one.branch == branch), None)


class RegistryState(NamedTuple):
    """The whole registry at one moment."""

    aliases: dict[str, Path]
    projects: dict[str, Registration]
    rebuilt: bool = False

    def project_of(self, root: Path) -> Registration | None:
        """The registration of the project at this root."""
        return self.projects.get(str(root))

    def moved_to(self, root: Path) -> Registration | None:
        """The project that was registered elsewhere and is now at this root."""
        gone = [one for one in self.projects.values() if one.identity and not one.root.exists()]
        identity = identity_of(root) if gone else ""
        return next((one for one in gone if one.identity == identity), None)

    def holding(self, path: Path) -> tuple[Registration, Worktree] | None:
        """The registered worktree that holds this path; the innermost one wins."""
        found: tuple[Registration, Worktree] | None = None
        for project in self.projects.values():
            for worktree in project.worktrees:
                inside = path == worktree.path or worktree.path in path.parents
                if inside and (not found or len(worktree.path.parts) > len(found[1].path.parts)):
                    found = project, worktree
        return found


def _worktree(branch: str, value: dict[str, Any]) -> Worktree:
    return Worktree(
        branch,
        str(value["slug"]),
        Path(value["path"]),
        bool(value["managed"]),
        float(value["created_at"]),
    )


def _registration(root: str, value: dict[str, Any]) -> Registration:
    worktrees: dict[str, Any] = value.get("worktrees", {})
    return Registration(
        Path(root),
        str(value["name"]),
        str(value["folder"]),
        tuple(_worktree(branch, one) for branch, one in worktrees.items()),
        str(value.get("slug") or slug(str(value["name"]))),
        str(value.get("identity", "")),
    )


def _project_json(project: Registration) -> dict[str, Any]:
    return {
        "name": project.name,
        "folder": project.folder,
        "slug": project.slug,
        "identity": project.identity,
        "worktrees": {one.branch: one.as_json() for one in project.worktrees},
    }


class Registry:
    """Reads and changes the registry of one home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._cached: tuple[tuple[int, int, int], RegistryState] | None = None

    def read(self) -> RegistryState:
        """The registry as it is now. Writes nothing, whatever it finds."""
        try:
            status = self.home.state.stat()
        except (FileNotFoundError, NotADirectoryError):
            return RegistryState({}, {}) if not self._mirrors() else self._rebuilt()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if self._cached and self._cached[0] == stamp:
            return self._cached[1]
        try:
            state = self._parsed()
        except (ValueError, KeyError, TypeError, AttributeError):
            return self._rebuilt()
        self._cached = stamp, state
        return state

    def _parsed(self) -> RegistryState:
        raw = read_json(self.home.state) or {}
        if int(raw.get("version", VERSION)) > VERSION:
            raise YardFault(
                "state-newer",
                f"{self.home.state} was written by a newer switchyard",
                hint="upgrade switchyard",
            )
        aliases: dict[str, Any] = raw.get("project_aliases", {})
        projects: dict[str, Any] = raw.get("projects", {})
        return RegistryState(
            {name: Path(one["root"]) for name, one in aliases.items()},
            {root: _registration(root, one) for root, one in projects.items()},
        )

    def _mirrors(self) -> list[Path]:
        return sorted((self.home.path / "projects").glob("*/project.json"))

    def _rebuilt(self) -> RegistryState:
        aliases: dict[str, Path] = {}
        projects: dict[str, Registration] = {}
        for path in self._mirrors():
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                raw = read_json(path) or {}
                root = str(raw["root"])
                projects[root] = _registration(root, raw)
                aliases.update({str(name): Path(root) for name in raw.get("aliases", [])})
        return RegistryState(aliases, projects, rebuilt=True)

    @contextlib.contextmanager
    def _changing(self) -> Generator[RegistryState]:
        check_disk(self.home)
        make_private_folder(true_folder(self.home.path))
        with FileLock(self.home.lock):
            state = self.read()
            if state.rebuilt and self.home.state.exists():
                aside = self.home.path / f"state.corrupt-{time.strftime('%Y%m%dT%H%M%S')}.json"
                self.home.state.replace(aside)
            yield state

    def _save(self, state: RegistryState, *, durable: bool = True) -> None:
        projects = {root: _project_json(one) for root, one in state.projects.items()}
        aliases = {name: {"root": str(root)} for name, root in state.aliases.items()}
        for root, one in projects.items():
            folder = self.home.path / "projects" / one["folder"]
            make_private_folder(folder)
            names = [name for name, target in state.aliases.items() if str(target) == root]
            mirror = {"root": root, "aliases": names, **one}
            with contextlib.suppress(ValueError):
                if read_json(folder / "project.json") == json.loads(json.dumps(mirror)):
                    continue
            write_json(folder / "project.json", mirror, durable=False)
        write_json(
            self.home.state,
            {"version": VERSION, "project_aliases": aliases, "projects": projects},
            durable=durable,
        )

    def register(self, root: Path, name: str) -> Registration:
        """Register the project; an existing registration stays as it is."""
        before = self.read()
        known = before.project_of(root)
        if known and known.name == name and not self._rival(before, root, known.slug):
            return known
        with self._changing() as state:
            known = state.project_of(root)
            folder = known.folder if known else self.home.project(root).folder.name
            short = self._short_name(state, root, slug(name))
            trees = known.worktrees if known else ()
            made = Registration(root, name, folder, trees, short, identity_of(root))
            # Any command can write it again; only a user's decision is worth waiting for the disk.
            changed = state._replace(projects={**state.projects, str(root): made})
            self._save(changed, durable=False)
        return made

    def _short_name(self, state: RegistryState, root: Path, wanted: str) -> str:
        """The wanted name, or one with as much of the root's digest as makes it the only one.

        The first digits of folders side by side are often the same.
        """
        short = wanted
        for length in _SUFFIXES:
            if not self._rival(state, root, short):
                break
            short = f"{wanted[: MAX_LABEL - 1 - length]}-{digest(str(root), length)}"
        return short

    def _rival(self, state: RegistryState, root: Path, short: str) -> Registration | None:
        """Another project with this short name that is still there, or still runs."""
        for one in state.projects.values():
            if one.slug == short and one.root != root:
                places = ProjectPlaces(self.home.path / "projects" / one.folder)
                if one.root.is_dir() or places.is_supervised():
                    return one
        return None

    def change_worktrees(
        self, root: Path, change: Callable[[tuple[Worktree, ...]], tuple[Worktree, ...]]
    ) -> None:
        """Replace the project's worktrees with what `change` makes of them, atomically."""
        with self._changing() as state:
            project = state.projects[str(root)]
            made = project._replace(worktrees=change(project.worktrees))
            self._save(state._replace(projects={**state.projects, str(root): made}))

    def alias(self, name: str, root: Path, *, force: bool = False) -> str:
        """Point the alias at the project. Says `created`, `unchanged` or `repointed`.

        Raises `YardFault` when the name points elsewhere and `force` is not set.
        """
        with self._changing() as state:
            there = state.aliases.get(name)
            if there == root:
                return "unchanged"
            if there is not None and not force:
                raise alias_taken(name, there)
            self._save(state._replace(aliases={**state.aliases, name: root}))
            return "repointed" if there else "created"

    def places(self, root: Path) -> ProjectPlaces:
        """Where the project's files are, or would be."""
        known = self.read().project_of(root)
        if known:
            return ProjectPlaces(self.home.path / "projects" / known.folder)
        return self.home.project(root)


def identity_of(root: Path) -> str:
    """What tells this folder from any other; nothing when the system does not tell."""
    with contextlib.suppress(OSError):
        return folder_identity(str(root))
    return ""


def alias_taken(name: str, there: Path) -> YardFault:
    """An alias never changes by itself, even when its path is gone."""
    return YardFault(
        "alias-taken",
        f"the alias `{name}` already points to {there}",
        hint=f"choose another `--name`, or pass `--force` to repoint `{name}`",
        exit_code=4,
    )
