"""Where the yard keeps its state, and how its files are named. Creates nothing."""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from switchkit.locks import is_locked
from switchkit.platform.files import foreign_disk
from switchyard.core.environ import caller, expanded
from switchyard.core.fault import YardFault
from switchyard.core.slugs import digest, slug

LONGEST_SOCKET_PATH = 100


class ProjectPlaces(NamedTuple):
    """The files of one project under the home."""

    folder: Path

    @property
    def home(self) -> Path:
        """The root of all state, of which this is a part."""
        return self.folder.parent.parent

    @property
    def mirror(self) -> Path:
        """A copy of the project's part of the registry, to rebuild it from."""
        return self.folder / "project.json"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the supervisor for as long as it lives."""
        return self.folder / "supervisor.lock"

    def is_supervised(self) -> bool:
        """Whether a supervisor lives. Creates nothing."""
        return is_locked(self.supervisor_lock)

    def knows(self, configuration: Path) -> bool:
        """Whether a supervisor has read the file as it is now, and found no mistake."""
        try:
            return configuration.stat().st_mtime_ns < self.supervisor_lock.stat().st_mtime_ns
        except OSError:
            return False

    def mark_known(self) -> None:
        """Note that the configuration was read now: the lock file carries the time."""
        with contextlib.suppress(OSError):
            os.utime(self.supervisor_lock)

    @property
    def supervisor_log(self) -> Path:
        """The supervisor's own log."""
        return self.folder / "supervisor.log"

    @property
    def checkouts(self) -> Path:
        """Which canonical port points to which branch."""
        return self.folder / "checkouts.json"

    @property
    def outline(self) -> Path:
        """What a brief needs of the configuration."""
        return self.folder / "outline.json"

    @property
    def hidden(self) -> Path:
        """What is never shown of logs."""
        return self.folder / "hidden.json"

    @property
    def socket(self) -> Path:
        """Where the supervisor listens."""
        return self._socket_path(self.folder / "supervisor.sock")

    def terminal(self, run_id: str) -> Path:
        """Where one attaches to the terminal of a run."""
        return self._socket_path(self.folder / "terminals" / f"{run_id}.sock")

    @staticmethod
    def _socket_path(path: Path) -> Path:
        """The path, or another place when it is too long for a socket."""
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
            return path
        runtime = caller().get("XDG_RUNTIME_DIR") or f"/tmp/switchyard-{os.getuid()}"  # noqa: S108 - made for this user alone, and the peer is checked
        of = path.parent if path.name == "supervisor.sock" else path
        return Path(runtime) / f"sy-{digest(str(of), 16)}.sock"

    def runs(self, branch_slug: str) -> Path:
        """The run records of one branch."""
        return self.folder / "runs" / branch_slug

    def record(self, branch_slug: str, service: str) -> Path:
        """The run record of one service."""
        return self.runs(branch_slug) / f"{slug(service)}.json"

    def log(self, branch_slug: str, service: str) -> Path:
        """The log of one service; it outlives runs."""
        return self.folder / "logs" / branch_slug / f"{slug(service)}.log"

    def data(self, branch_slug: str, service: str) -> Path:
        """The folder a service may keep data of its branch in."""
        return self.folder / "data" / branch_slug / slug(service)


class Home(NamedTuple):
    """The root of all state."""

    path: Path

    @property
    def state(self) -> Path:
        """The registry: aliases, projects, worktrees."""
        return self.path / "state.json"

    @property
    def lock(self) -> Path:
        """Taken by whoever changes the registry."""
        return self.path / "state.lock"

    @property
    def ports(self) -> Path:
        """Which port belongs to which service of which branch."""
        return self.path / "ports.json"

    @property
    def certificates(self) -> Path:
        """The local certificate authority, where one was asked for."""
        return self.path / "certificates"

    def project(self, root: Path) -> ProjectPlaces:
        """The places of the project at this root."""
        label = slug(root.name)[:40]
        return ProjectPlaces(self.path / "projects" / f"{label}-{digest(str(root))}")

    def worktrees(self, root: Path, name_slug: str) -> Path:
        """Where new worktrees go when the project does not say."""
        return self.path / "worktrees" / f"{name_slug}-{digest(str(root))}"


def disk_fault(home: Home) -> YardFault | None:
    """Why a home is not used: what protects it does not hold where it lies."""
    if not (kind := foreign_disk(str(home.path))):
        return None
    return YardFault(
        "home-foreign-disk",
        f"{home.path} lies on a disk of Windows (`{kind}`), where neither modes nor locks hold",
        hint="keep it on the disk of Linux: export SWITCHYARD_HOME=/home/$USER/.switchyard",
    )


def check_disk(home: Home) -> None:
    """Refuse such a home before anything is written there. Raises a fault."""
    if (wrong := disk_fault(home)) is not None:
        raise wrong


def default_home() -> Home:
    """`SWITCHYARD_HOME`, or `~/.switchyard`."""
    return Home(expanded(caller().get("SWITCHYARD_HOME") or "~/.switchyard").absolute())
