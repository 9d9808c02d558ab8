"""The only place that starts a process."""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.loop_file import loop_file
from switchboard.procs.outlet import Outlet
from switchboard.procs.tail import Tail
from switchboard.procs.wall_watch import WallWatch
from switchboard.procs.wrapped import Vigil, Wrapped
from switchkit.commands import resolved_command, words_in_command
from switchkit.open_files import give_first_limit
from switchkit.platform import Unknown
from switchkit.platform.processes import open_exit, signal_exactly
from switchkit.processes import Family, ProcessTable, began
from switchkit.reaper_client import Reaper

# A keeper ends everything within five seconds, and then itself.
_KEEPER_S = 6.0


class SpawnSpec(Struct, frozen=True, kw_only=True):
    """What to run, where, and with exactly which environment."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    # Puts the program inside another one, as a sandbox does. Called in the thread that starts it,
    # just before, so that it may look at files. Raises a fault or OSError.
    wrap: "Callable[[SpawnSpec], Wrapped] | None" = None
    # Its one way out, where it has no other network.
    outlet: Outlet | None = None


Wrap = Callable[[SpawnSpec], Wrapped]
Started = tuple["subprocess.Popen[bytes]", Wrapped | None, Vigil | None]


class Running:
    """A process that we started: the leader of its own session."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        reaper: Reaper,
        wrapped: Wrapped | None = None,
        errors: Tail | None = None,
        vigil: Vigil | None = None,
    ) -> None:
        self._process = process
        self._wrapped = wrapped
        self._walls = WallWatch(vigil, self._fall) if vigil is not None else None
        self._reaper = reaper
        self._loop = asyncio.get_running_loop()
        self.pid = process.pid
        self._began = began(self.pid)
        self._family = Family(self.pid, self._began)
        self.stdin = _given(process.stdin, "wb")
        self.stdout = _given(process.stdout, "rb")
        self._stderr = _given(process.stderr, "rb")
        self.errors = Tail() if errors is None else errors
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._exit = -1

    async def watch(self) -> None:
        """Begin to read stderr and to wait for the end."""
        if self._walls is not None:
            self._walls.start()
        await self._loop.connect_read_pipe(lambda: self.errors, self._stderr)
        try:
            self._exit = open_exit(self.pid)
        except (Unknown, OSError):
            # No event tells its end on this system: a thread waits, one that nobody else needs.
            threading.Thread(target=self._wait, daemon=True).start()
        else:
            self._loop.add_reader(self._exit, self._reap)

    def _wait(self) -> None:
        self._process.wait()
        # Without a loop nobody asks any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._reap)

    def _reap(self) -> None:
        if self._exit >= 0:
            self._loop.remove_reader(self._exit)
            os.close(self._exit)
            self._exit = -1
        if self._walls is not None:
            # Before anybody takes what it left for its answer.
            self._walls.stands()
            self._walls.stop()
        if not self.exited.done():
            self.exited.set_result(self._process.wait())

    def _fall(self) -> None:
        # The outermost wall, which takes everything inside with it.
        signal_exactly(self.pid, self._began, signal.SIGKILL)

    async def look(self) -> None:
        """Remember who belongs to it: once a parent has ended its children are hard to find."""
        await self._aside(lambda: self._family.look(ProcessTable()))

    async def signal(self, number: int) -> None:
        """Signal everything that the process started and itself, if it is no wall."""
        await self._aside(lambda: self._send(number))

    def _send(self, number: int) -> None:
        table = ProcessTable()
        spared: frozenset[int] = frozenset()
        is_walled = self._wrapped is not None and self._wrapped.is_walled
        if is_walled and number != signal.SIGKILL and self.pid in table.processes:
            spared = frozenset((self.pid, *table.children(self.pid)))
        self._family.send(table, number, spared)

    def stands(self) -> bool:
        """Whether its walls, if it has any, stand up to now: then its words may be passed on."""
        return self._walls is None or self._walls.stands()

    def denial(self) -> Fault | None:
        """Once it has ended: what its sandbox denied it, if that is why."""
        if self._walls is not None and self._walls.breach is not None:
            return self._walls.breach
        if self._wrapped is None or self._wrapped.explain is None or not self.exited.done():
            return None
        return self._wrapped.explain(self.exited.result(), self.errors.text())

    def appeared(self) -> tuple[str, ...]:
        """Once it has ended: the protected files that are there since it began, by name."""
        if self._wrapped is None or self._wrapped.appeared is None:
            return ()
        return self._wrapped.appeared()

    async def kill(self) -> None:
        """Make it end, with everything that it started."""
        if self._wrapped is not None and self._wrapped.lifeline is not None:
            # A keeper misses nobody. Without it those are lost whose parents have ended.
            self._wrapped.let_go()
            signal_exactly(self.pid, self._began, signal.SIGCONT)
            await asyncio.wait({self.exited}, timeout=_KEEPER_S)
        if not self.exited.done():
            await self.signal(signal.SIGKILL)

    async def kill_rest(self) -> None:
        """End whatever is left of what it started."""
        if self._wrapped is not None:
            self._wrapped.let_go()
        await self._aside(self._family.kill)
        if self._wrapped is not None and self._wrapped.group is not None:
            await self._aside(self._wrapped.remove_group)
        self._reaper.release(self.pid)

    async def _aside(self, work: Callable[[], object]) -> None:
        # With thousands of processes one look takes long enough to be felt on the loop.
        await self._loop.run_in_executor(None, work)


def _given(stream: "IO[bytes] | None", mode: str) -> IO[bytes]:
    """A stream of a process, given to the loop."""
    assert stream is not None
    number = os.dup(stream.fileno())
    stream.close()
    return loop_file(number, mode)


async def spawn(
    spec: SpawnSpec, *, reaper: Reaper, timeout_s: float, errors: Tail | None = None
) -> Running:
    """Start a process; `errors` reads its stderr. Raises a fault when that fails or is too slow."""
    starting = asyncio.get_running_loop().run_in_executor(None, _start, spec)
    try:
        async with asyncio.timeout(timeout_s):
            process, wrapped, vigil = await asyncio.shield(starting)
    except TimeoutError:
        starting.add_done_callback(_discard)
        raise Fault(
            FaultCode.DEADLINE_EXCEEDED,
            "child-start-timeout",
            f"`{_label(spec)}` did not start within {timeout_s:g} s",
            hint="raise `timeouts.childSpawnMs`",
        ) from None
    except OSError as error:
        raise _fault_from_os_error(spec, error) from error
    except asyncio.CancelledError:
        starting.add_done_callback(_discard)
        raise
    try:
        reaper.guard(process.pid, lifeline=None if wrapped is None else wrapped.lifeline)
    except OSError as error:
        _end(process, wrapped, vigil)
        raise _fault_from_os_error(spec, error) from error
    running = Running(process, reaper, wrapped, errors, vigil)
    try:
        await running.watch()
    except BaseException:
        # Cancelled in between: nobody would know of it.
        _end(process, wrapped, vigil)
        reaper.release(process.pid)
        raise
    return running


def _start(spec: SpawnSpec) -> "Started":
    if spec.wrap is None:
        # Found by us: left to the child, a relative entry of its search path would count.
        path = spec.env.get("PATH") or os.defpath
        command = resolved_command(spec.argv[0], cwd=spec.cwd, path=path)
        return _open((command, *spec.argv[1:]), spec.cwd, spec.env), None, None
    wrapped = spec.wrap(spec)
    try:
        inherited = tuple(file.fileno() for file in wrapped.inherits)
        process = _open(wrapped.argv, wrapped.cwd, wrapped.env, inherited)
        try:
            vigil = wrapped.release(process.pid)
        except BaseException:
            _end(process, wrapped, None)
            raise
    except BaseException:
        wrapped.let_go()
        raise
    finally:
        wrapped.close()
    return process, wrapped, vigil


def _open(
    argv: tuple[str, ...], cwd: str, env: Mapping[str, str], inherited: tuple[int, ...] = ()
) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(env),
        start_new_session=True,
        pass_fds=inherited,
    )
    give_first_limit(process.pid)
    return process


def _discard(starting: "asyncio.Future[Started]") -> None:
    """Nobody waits for this process any more."""
    if not starting.cancelled() and starting.exception() is None:
        _end(*starting.result())


def _end(process: "subprocess.Popen[bytes]", wrapped: Wrapped | None, vigil: Vigil | None) -> None:
    """End what was started a moment ago."""
    if vigil is not None:
        vigil.close()
    if wrapped is not None and wrapped.lifeline is not None:
        # It takes its time, and needs nobody for it.
        wrapped.let_go()
        threading.Thread(target=_leave, args=(process, wrapped), daemon=True).start()
        return
    Family(process.pid, began(process.pid)).send(ProcessTable(), signal.SIGKILL)
    _leave(process, wrapped)


def _leave(process: "subprocess.Popen[bytes]", wrapped: Wrapped | None) -> None:
    """Close its streams, and wait for it."""
    with process:
        pass
    if wrapped is not None:
        wrapped.remove_group()


def _label(spec: SpawnSpec) -> str:
    return os.path.basename(spec.argv[0])


def _named(command: str) -> str:
    """A command without the folders of its program; somebody may have put words behind it."""
    program, *words = command.split() or [command]
    return " ".join((os.path.basename(program), *words))


def _fault_from_os_error(spec: SpawnSpec, error: OSError) -> Fault:
    missing = isinstance(error, FileNotFoundError)
    if missing and not os.path.isdir(spec.cwd):
        message, hint = "its working directory does not exist", "create it or correct the entry"
    elif missing:
        message = f"the command `{_named(spec.argv[0])}` was not found"
        # A path says where it should be: to give it once more helps nobody.
        is_path = os.sep in spec.argv[0]
        hint = words_in_command(spec.argv[0]) or (
            "there is no file at the path that is its `command`: install it, or correct the path"
            if is_path
            else "install it, or give its full path as `command`"
        )
    elif isinstance(error, PermissionError):
        message = f"the command `{_label(spec)}` may not be executed"
        hint = "make the file executable"
    else:
        message, hint = f"`{_label(spec)}` could not be started ({error.strerror})", ""
    return Fault(FaultCode.INTERNAL, "spawn-failed", message, hint=hint, private=str(error))
