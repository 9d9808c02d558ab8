"""One start of a container: noted before it, so that whoever comes after us can remove it."""

import asyncio
import contextlib
import os
from collections.abc import Sequence

from switchboard.core.faults import Fault, FaultCode
from switchboard.procs.spawn import SpawnSpec
from switchkit.commands import resolved_command
from switchkit.containers import LABEL, Containers
from switchkit.files import NotPrivate, make_private_folder, open_private
from switchkit.locks import try_lock
from switchkit.processes import began
from switchkit.reaper_client import Reaper

# What an engine needs to find its containers again. Nothing else of the environment is kept: the
# variables of a server may be secrets.
_NEEDED = frozenset((
    "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINER_CONNECTION", "CONTAINER_HOST",
    "CONTAINER_SSHKEY", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_API_VERSION", "DOCKER_CERT_PATH",
    "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "HOME",
    "PATH", "SSH_AUTH_SOCK", "TMPDIR", "USER", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
))  # fmt: skip
_SUFFIX = ".container"


class ContainerStart:
    """The container of one start, from before it begins until it is removed."""

    def __init__(self, token: str, owner: str) -> None:
        self.token = token
        self.label = f"{LABEL}={owner}"
        self._owner = owner
        self._reaper: Reaper | None = None
        self._containers: Containers | None = None
        # The note, which we hold locked for as long as we live: whoever can lock it comes after us.
        self._path = ""
        self._handle = -1
        self._removal: asyncio.Task[None] | None = None

    @classmethod
    def new(cls) -> "ContainerStart":
        """One that nothing is noted of yet."""
        token, pid = os.urandom(8).hex(), os.getpid()
        return cls(token, f"{pid}-{began(pid)}-{token}")

    async def note(
        self, engine: Sequence[str], spec: SpawnSpec, *, folder: str, reaper: Reaper
    ) -> None:
        """Have it removed whatever becomes of us. Raises a fault.

        What others left in the folder, who are gone, is removed first.
        """
        try:
            program = resolved_command(
                engine[0], cwd=spec.cwd, path=spec.env.get("PATH") or os.defpath
            )
            kept = {name: value for name, value in spec.env.items() if name in _NEEDED}
            containers = Containers((program, *engine[1:]), kept, self._owner)
        except OSError:
            # Told by the start, which cannot find it either.
            return
        try:
            if folder:
                await asyncio.to_thread(self._write, containers, folder)
            reaper.guard_containers(self._owner, containers.written)
        except (NotPrivate, OSError) as error:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "container-not-noted",
                "its container cannot be noted for its removal",
                hint="look at the folder `containers` in the home of Switchboard",
                private=str(error),
            ) from error
        self._containers, self._reaper = containers, reaper

    def _write(self, containers: Containers, folder: str) -> None:
        make_private_folder(folder)
        sweep(folder)
        path = os.path.join(folder, f"{self._owner}{_SUFFIX}")
        self._handle = open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        self._path = path
        try_lock(self._handle)
        os.write(self._handle, containers.written.encode())

    async def remove(self, *, is_unsure: bool = False) -> None:
        """Remove it, once its client has ended; `is_unsure` whether the engine has it yet."""
        if self._removal is None:
            self._removal = asyncio.ensure_future(self._removed(2 if is_unsure else 1))
        await asyncio.shield(self._removal)

    async def _removed(self, looks: int) -> None:
        gone = await asyncio.to_thread(self._remove, looks)
        if gone and self._reaper is not None:
            self._reaper.release_containers(self._owner)

    def _remove(self, looks: int) -> bool:
        gone = self._containers is None or self._containers.remove(looks)
        if gone and self._path:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        if self._handle >= 0:
            # Not removed: the note stays, and the next start tries again.
            os.close(self._handle)
            self._handle = -1
        return gone


def container_notes(home: str) -> str:
    """Where those are noted that were started for a home."""
    return os.path.join(home, "containers")


def sweep(folder: str) -> None:
    """Remove the containers of those who noted them in a folder and are gone. Takes its time."""
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(folder)):
            if name.endswith(_SUFFIX):
                with contextlib.suppress(OSError):
                    _sweep_one(os.path.join(folder, name))


def _sweep_one(path: str) -> None:
    handle = open_private(path, os.O_RDWR)
    try:
        if not try_lock(handle):
            # Its owner lives.
            return
        with open(handle, "rb", closefd=False) as file:
            text = file.read()
        try:
            gone = Containers.read(text).remove()
        except ValueError:
            # Its owner ended while it wrote this, and so before the start.
            gone = True
        if gone:
            os.unlink(path)
    finally:
        os.close(handle)
