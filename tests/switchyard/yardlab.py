"""Drives the real command against a real project, and watches the machine independently."""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from support.measuring import measured_daemon

Json = dict[str, Any]
SERVICE_SCRIPT = Path(__file__).with_name("svc.py")
PATIENCE = 20.0
QUICK = [sys.executable, "-S", "-E", str(SERVICE_SCRIPT)]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        return json.loads(self.out)


def free_port() -> int:
    """Give a port that was free a moment ago, below the ephemeral range.

    Each worker of a parallel run has a range of its own, so that none takes another's.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = 25000 + worker % 7 * 1000
    for port in range(first, first + 1000):
        if port in _GIVEN:
            continue
        with socket.socket() as probe, socket.socket(socket.AF_INET6) as sixth:
            try:
                probe.bind(("127.0.0.1", port))
                sixth.bind(("::1", port))
            except OSError:
                continue
        _GIVEN.add(port)
        return port
    raise AssertionError("no free port")


_GIVEN: set[int] = set()


def wait_for(fact: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Wait until the fact holds, and give what it gave."""
    until = time.monotonic() + patience
    while True:
        found = fact()
        if found:
            return found
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.01)


def processes() -> dict[int, Json]:
    """Read the process table without the code under test: state, session and environment."""
    found: dict[int, Json] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            status = (entry / "status").read_text()
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            environ = (entry / "environ").read_bytes().split(b"\0")
            found[int(entry.name)] = {
                "state": fields["State"][0],
                "env": {
                    k.decode(errors="replace"): v.decode(errors="replace")
                    for k, _, v in (one.partition(b"=") for one in environ)
                },
            }
    return found


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def at_work(folder: Path) -> set[int]:
    """Ask the kernel alone who lives with this folder as its own, whatever its variables say."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                pid = int(entry.name)
                found |= {pid} if is_alive(pid) else set()
    return found


def suspend(pids: set[int]) -> None:
    """Have these do nothing any more, as one that hangs."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for task in (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()):
        stat = task / "stat"
        wait_for(lambda stat=stat: stat.read_text().rpartition(")")[2].split()[0] == "T")


def connects(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody accepts connections there."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), 2):
        return True
    return False


def get(port: int, path: str = "/", host: str = "127.0.0.1", name: str | None = None) -> str:
    """Ask over HTTP with plain sockets, and give the body."""
    with socket.create_connection((host, port), 5) as client:
        head = f"GET {path} HTTP/1.1\r\nHost: {name or 'localhost'}\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode())
        raw = b""
        while b"\r\n\r\n" not in raw:
            part = client.recv(65536)
            if not part:
                return raw.decode()
            raw += part
        top, _, body = raw.partition(b"\r\n\r\n")
        length = int(top.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
        while len(body) < length:
            body += client.recv(65536)
        return body.decode()


class Terminal:
    """A command at a terminal of its own: what it shows, and keys for it."""

    def __init__(self, command: list[str], cwd: Path, env: Mapping[str, str]) -> None:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        # Its own session, with this as its terminal, so that Ctrl-C is a signal to it.
        self._process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command],
            cwd=cwd,
            env=dict(env),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self._ours = ours
        self.shown = ""

    def until(self, text: str) -> str:
        """Read until this is shown, and give all that was."""
        until = time.monotonic() + PATIENCE
        while text not in self.shown:
            left = until - time.monotonic()
            assert left > 0, f"`{text}` was not shown:\n{self.shown}"
            if select.select([self._ours], [], [], left)[0]:
                try:
                    part = os.read(self._ours, 65536)
                except OSError:
                    part = b""
                assert part, f"it ended before `{text}`:\n{self.shown}"
                self.shown += part.decode(errors="replace")
        return self.shown

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        with contextlib.suppress(OSError):
            while part := os.read(self._ours, 65536):
                self.shown += part.decode(errors="replace")
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._ours)


class Lab:
    """One project with its home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "shop"
        self.home = folder / "home"
        self.codex = folder / "codex"
        self.proxy_port = free_port()
        # What every command is run by.
        self.before: tuple[str, ...] = ()
        self.root.mkdir()
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SWITCHYARD", "CODEX"))},
            "SWITCHYARD_HOME": str(self.home),
            "CODEX_HOME": str(self.codex),
            "HOME": str(folder / "user"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            **measured_daemon(),
        }
        (folder / "user").mkdir()
        self.branch = "default"
        self._cwd = self.root
        self._cleanups: list[Callable[[], object]] = []
        self._strangers: list[subprocess.Popen[bytes]] = []

    def stand(self, cwd: Path, branch: str) -> None:
        """Ask from this folder about this branch from now on."""
        self._cwd, self.branch = cwd, branch

    def branch_slug(self) -> str:
        return self.branch.replace("/", "-")

    def worktree(self) -> Path:
        return self._cwd

    def web(self) -> Json:
        """What `where` says of the service `web` of the branch."""
        return self.service("web", self.branch)

    def cleanup(self, step: Callable[[], object]) -> None:
        """Do this at the end."""
        self._cleanups.append(step)

    def stranger(self) -> int:
        """Start a process that the project knows nothing of."""
        made = subprocess.Popen(["sleep", "100"], start_new_session=True)
        self._strangers.append(made)
        return made.pid

    def strangers(self) -> list[int]:
        return [one.pid for one in self._strangers]

    def listener(self, port: int) -> None:
        """Listen on a port from this very process, once whoever was killed there is all gone."""

        def listening() -> socket.socket | None:
            with contextlib.suppress(OSError):
                return socket.create_server(("127.0.0.1", port))
            return None

        self.cleanup(wait_for(listening).close)

    def config(self, text: str, *, name: str = "shop") -> Path:
        """Write the configuration; `SVC` in a command stands for the test service."""
        head = f'[project]\nname = "{name}"\n[proxy]\nport = {self.proxy_port}\n'
        argv = ", ".join(json.dumps(one) for one in QUICK)
        path = self.root / "switchyard.toml"
        path.write_text(head + text.replace("SVC", argv))
        return path

    def git(self, *words: str, cwd: Path | None = None) -> str:
        who = (
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "init.defaultBranch=main",
        )
        done = subprocess.run(
            ["git", *who, *words], cwd=cwd or self.root, capture_output=True, text=True, check=True
        )
        return done.stdout

    def repository(self) -> None:
        """Make the project a git repository with one commit."""
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first", "--allow-empty")

    def sy(
        self,
        *words: str,
        cwd: Path | None = None,
        code: int | None = 0,
        env: Mapping[str, str] | None = None,
        given: str = "",
    ) -> Done:
        """Run the command, and insist on its exit code."""
        done = subprocess.run(
            [*self.before, sys.executable, "-m", "switchyard", *words],
            cwd=cwd or self.root,
            env={**self.env, **(env or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        told = f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert code is None or done.returncode == code, told
        return Done(done.returncode, done.stdout, done.stderr)

    def at_terminal(self, *words: str) -> "Terminal":
        """Run the command as somebody who types it."""
        made = Terminal([sys.executable, "-m", "switchyard", *words], self.root, self.env)
        self.cleanup(made.close)
        return made

    def json(self, *words: str, cwd: Path | None = None, code: int | None = 0) -> Json:
        return self.sy(*words, "--json", cwd=cwd, code=code).json

    def service(self, name: str, branch: str | None = None) -> Json:
        """What `where` says of one service."""
        extra = ("--branch", branch) if branch else ()
        return self.json("where", name, *extra)["service"]

    def folder_of_state(self) -> Path:
        """The project's folder under the home."""
        return next((self.home / "projects").iterdir())

    def record(self, name: str, branch: str = "default") -> Path:
        return self.folder_of_state() / "runs" / branch / f"{name}.json"

    def supervisor(self) -> int | None:
        """The pid of the supervisor, from the process table."""
        for pid, one in processes().items():
            if one["state"] not in "ZX" and one["env"].get("SWITCHYARD_HOME") == str(self.home):
                with contextlib.suppress(OSError):
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    if any(b"switchyard.supervisor" in word for word in words):
                        return pid
        return None

    def kill_supervisor(self) -> None:
        pid = self.supervisor()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_alive(pid))

    def be_without_supervisor(self) -> None:
        """Kill it, unless it has ended by itself, as one does that looks after nothing."""
        pid = self.supervisor()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not is_alive(pid))

    def family(self, run_id: str) -> list[int]:
        """Living processes that carry the mark of this run."""
        return [
            pid
            for pid, one in processes().items()
            if one["env"].get("SWITCHYARD_RUN_ID") == run_id and one["state"] not in "ZX"
        ]

    def ours(self) -> list[int]:
        """Living processes that any run of this lab has started."""
        return [
            pid
            for pid, one in processes().items()
            if one["env"].get("SWITCHYARD_ROOT") == str(self.root) and one["state"] not in "ZX"
        ]

    def close(self) -> None:
        """End everything of this lab, by pid."""
        for step in self._cleanups:
            step()
        for one in self._strangers:
            one.kill()
            one.wait()
        supervisor = self.supervisor()
        if supervisor is not None:
            with contextlib.suppress(ProcessLookupError):
                # First it may write down what was measured of it.
                os.kill(supervisor, signal.SIGTERM)
                with contextlib.suppress(AssertionError):
                    wait_for(lambda: not is_alive(supervisor), 5.0)
                os.kill(supervisor, signal.SIGKILL)
        for pid in self.ours():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
