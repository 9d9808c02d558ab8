"""The only place that starts a process."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, cast

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.procs import sessions
from switchboard.procs.tail import Tail

# Without site-packages it starts in a few milliseconds, so it has to be told where we are.
_WARDEN = (
    f"import sys; sys.path.insert(0, {os.path.abspath(f'{__file__}/../../..')!r})\n"  # noqa: PTH100
    "from switchboard.procs.warden import main; main()"
)


class SpawnSpec(Struct, frozen=True, kw_only=True):
    """What to run, where, and with exactly which environment."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


class Warden:
    """Our side of the process that ends our children after us. One per program, started late."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def guard(self, pid: int) -> None:
        """From now on the session of `pid` does not outlive us."""
        if self._process is None:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", "-c", _WARDEN),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        self._tell(f"+{pid} {sessions.start_ticks(pid) or 0}\n")

    def release(self, pid: int) -> None:
        """The session of `pid` has ended."""
        self._tell(f"-{pid}\n")

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()

    def close(self) -> None:
        """Let it end what is still guarded, and wait until it has."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()


class Running:
    """A process that we started: the leader of its own session."""

    def __init__(self, process: "subprocess.Popen[bytes]", warden: Warden) -> None:
        self._process = process
        self._warden = warden
        self._loop = asyncio.get_running_loop()
        self.pid = process.pid
        self.stdin = cast("IO[bytes]", process.stdin)
        self.stdout = cast("IO[bytes]", process.stdout)
        self.errors = Tail()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._pidfd = -1

    async def watch(self) -> None:
        """Begin to read stderr and to wait for the end."""
        await self._loop.connect_read_pipe(lambda: self.errors, self._process.stderr)
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            # No pidfd on this system: a thread waits instead.
            waiting = self._loop.run_in_executor(None, self._process.wait)
            waiting.add_done_callback(lambda _: self._reap())
        else:
            self._loop.add_reader(self._pidfd, self._reap)

    def _reap(self) -> None:
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        if not self.exited.done():
            self.exited.set_result(self._process.wait())

    def signal(self, number: int) -> None:
        """Signal everything that the process started and itself."""
        sessions.send(self.pid, number)

    def kill_rest(self) -> None:
        """End whatever is left of its session."""
        sessions.kill(self.pid)
        self._warden.release(self.pid)


async def spawn(spec: SpawnSpec, *, warden: Warden, timeout_s: float) -> Running:
    """Start a process. Raises an `internal` fault when that fails or takes too long."""
    starting = asyncio.get_running_loop().run_in_executor(None, _start, spec)
    try:
        async with asyncio.timeout(timeout_s):
            process = await asyncio.shield(starting)
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
    warden.guard(process.pid)
    running = Running(process, warden)
    await running.watch()
    return running


def _start(spec: SpawnSpec) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        spec.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=spec.cwd,
        env=dict(spec.env),
        start_new_session=True,
    )


def _discard(starting: "asyncio.Future[subprocess.Popen[bytes]]") -> None:
    """Nobody waits for this process any more."""
    if not starting.cancelled() and starting.exception() is None:
        # Leaving the block closes its streams and waits for it.
        with starting.result() as process:
            sessions.kill(process.pid)


def _label(spec: SpawnSpec) -> str:
    return os.path.basename(spec.argv[0])  # noqa: PTH119


def _fault_from_os_error(spec: SpawnSpec, error: OSError) -> Fault:
    missing = isinstance(error, FileNotFoundError)
    if missing and not os.path.isdir(spec.cwd):  # noqa: PTH112
        message, hint = "its working directory does not exist", "create it or correct the entry"
    elif missing:
        message = f"the command `{_label(spec)}` was not found"
        hint = "install it, or give its full path as `command`"
    elif isinstance(error, PermissionError):
        message = f"the command `{_label(spec)}` may not be executed"
        hint = "make the file executable"
    else:
        message, hint = f"`{_label(spec)}` could not be started ({error.strerror})", ""
    return Fault(FaultCode.INTERNAL, "spawn-failed", message, hint=hint, private=str(error))
