"""The weaker sandbox, where bubblewrap cannot work: real programs, judged from outside."""

import asyncio
import os
import socket
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from sandbox.den import SECRET, Den, python
from support.requirements import requirement
from switchboard.core.faults import Fault
from switchboard.sandbox.landlock import starter
from switchboard.sandbox.landlock.orders import written_orders
from switchboard.sandbox.landlock.probe import Landlock, LandlockProbe
from switchboard.sandbox.landlock.rights import CHANGE, READ, handled
from switchboard.sandbox.probe import Probe, System, Unusable
from switchboard.sandbox.sandbox import Sandbox
from switchboard.sandbox.seccomp import MACHINES

# One that every user may run; that of the tests may lie in a home.
SYSTEM_PYTHON = "/usr/bin/python3"
NOBODY = 65534
# Only root can become another user; whoever else runs the tests is an ordinary one.
ORDINARY: dict[str, Any] = (
    {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
)


@pytest.fixture
def locked(den: Den, tmp_path: Path) -> Den:
    """A den on a machine where bubblewrap cannot work."""
    den.sandbox = Sandbox(Probe(folders=(str(tmp_path / "nothing"),)))
    return den


TRY = """
import json, os, resource, socket, sys
said = {}
def can(name, work):
    try:
        said[name] = work()
    except OSError as error:
        said[name] = error.errno and None
workspace, home, outside, owner, port = sys.argv[1:]
def read(path): return open(path).read()
def write(path): return open(path, "w").write("x")
can("own", lambda: read(f"{workspace}/src/own.txt"))
can("home", lambda: read(f"{home}/.ssh/id_ed25519"))
can("homes", lambda: os.listdir(home))
can("outside", lambda: read(outside))
can("write outside", lambda: write(outside))
can("truncate outside", lambda: os.truncate(outside, 0) or "done")
can("make outside", lambda: write(outside + ".new"))
can("link", lambda: os.link(outside, f"{workspace}/src/link") or read(f"{workspace}/src/link"))
os.symlink(outside, f"{workspace}/src/way")
can("way", lambda: read(f"{workspace}/src/way"))
can("env", lambda: read(f"{workspace}/.env"))
can("move env", lambda: os.rename(f"{workspace}/.env", f"{workspace}/src/env") or "done")
can("hook", lambda: write(f"{workspace}/.git/hooks/pre-commit"))
can("hook link", lambda: os.symlink("/bin/true", f"{workspace}/.git/hooks/a") or "done")
can("move git", lambda: os.rename(f"{workspace}/.git", f"{workspace}/src/g") or "done")
can("agents", lambda: write(f"{workspace}/AGENTS.md"))
can("new agents", lambda: write(f"{workspace}/CLAUDE.md"))
can("config", lambda: read(f"{workspace}/.git/config"))
can("environ", lambda: read(f"/proc/{owner}/environ"))
can("memory", lambda: os.close(os.open(f"/proc/{owner}/mem", os.O_RDONLY)) or "done")
can("files", lambda: os.readlink(f"/proc/{owner}/fd/0"))
can("folder of another", lambda: os.listdir(f"/proc/{owner}/cwd/"))
can("root", lambda: read(f"/proc/{owner}/root{outside}"))
can("signal", lambda: os.kill(int(owner), 0) or "done")
can("tcp", lambda: socket.create_connection(("127.0.0.1", int(port))) and "done")
can("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) and "done")
can("unix", lambda: socket.socket(socket.AF_UNIX) and "done")
can("shadow", lambda: read("/etc/shadow"))
can("sysctl", lambda: write("/proc/sys/kernel/core_pattern"))
can("mode", lambda: os.chmod(outside, 0o777) or "done")
can("own mode", lambda: os.chmod(f"{workspace}/src/own.txt", 0o777) or "done")
can("open mode", lambda: os.fchmod(os.open("/usr/bin/env", os.O_RDONLY), 0o777) or "done")
can("attribute", lambda: os.setxattr(outside, "user.x", b"x") or "done")
can("owner", lambda: os.chown(outside, os.getuid(), os.getgid()) or "done")
can("limits", lambda: resource.prlimit(int(owner), resource.RLIMIT_NOFILE) and "done")
said["own limits"] = resource.getrlimit(resource.RLIMIT_CORE)
can("set id", lambda: os.chmod(f"{workspace}/src/own.txt", 0o4755) or "done")
can("new", lambda: write(f"{workspace}/src/new.txt"))
can("change", lambda: write(f"{workspace}/README.txt"))
can("temporary", lambda: write(os.path.join(os.environ["TMPDIR"], "x")))
can("null", lambda: write("/dev/null"))
said["capabilities"] = [
    line.split()[1] for line in read("/proc/self/status").splitlines() if line.startswith("CapEff")
]
said["folder"] = os.getcwd()
said["scratch"] = os.environ["TMPDIR"]
print(json.dumps(said))
"""
CAN = {
    "own": "mine",
    "new": 1,
    "change": 1,
    "temporary": 1,
    "null": 1,
    "config": "[core]\n",
}


def furnished(den: Den) -> Path:
    """A repository with secrets and hooks, and a file beside it; gives that file."""
    den.repository()
    (den.workspace / "src").mkdir()
    (den.workspace / "src" / "own.txt").write_text("mine")
    (den.workspace / "README.txt").write_text("old")
    (den.workspace / ".env").write_text(SECRET)
    (den.workspace / "AGENTS.md").write_text("words")
    outside = den.workspace.parent / "outside.txt"
    outside.write_text(SECRET)
    return outside


@requirement("S3.96", "S3.121")
async def test_a_program_that_is_locked_in_reaches_what_was_opened_and_nothing_else(
    locked: Den,
) -> None:
    outside = furnished(locked)
    mode = stat.S_IMODE(outside.stat().st_mode)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = await locked.python(
            TRY,
            *(str(locked.workspace), str(locked.home), str(outside)),
            *(str(os.getpid()), str(listener.getsockname()[1])),
            fallback="landlock",
        )
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    said = ended.said
    assert said.pop("folder") == str(locked.workspace)
    assert said.pop("capabilities") == ["0000000000000000"]
    scratch = said.pop("scratch")
    assert said.pop("own limits") == [0, 0]
    assert {name: value for name, value in said.items() if value is not None} == CAN
    # By the files themselves, whatever it said.
    assert stat.S_IMODE(outside.stat().st_mode) == mode
    assert outside.read_text() == SECRET
    assert not outside.with_name("outside.txt.new").exists()
    assert (locked.workspace / ".env").read_text() == SECRET
    assert (locked.workspace / "AGENTS.md").read_text() == "words"
    assert not (locked.workspace / "CLAUDE.md").exists()
    assert not list((locked.workspace / ".git" / "hooks").iterdir())
    assert not stat.S_IMODE((locked.workspace / "src" / "own.txt").stat().st_mode) & stat.S_ISUID
    assert (locked.workspace / "README.txt").read_text() == "x"
    assert not is_there(scratch)


async def test_what_it_leaves_behind_ends_with_it(locked: Den) -> None:
    """There is no namespace to end: it goes twice into the background, in a session of its own."""
    program = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(0.2)
"""
    async with locked.started(python(program), fallback="landlock") as running:
        running.stdin.close()
        said = await asyncio.to_thread(_line, running.stdout.fileno())
        await running.exited
    assert not is_there(f"/proc/{int(said)}")


@pytest.mark.parametrize(
    "program",
    ids=("link in a folder", "link for a folder"),
    argvalues=[
        # The list of what is opened was made from names; a link in their place opens nothing.
        "import os; os.symlink(os.environ['OUTSIDE'], 'made/way')",
        # A whole folder that takes the place of one which is opened.
        "import os; os.rename('made', 'src/made'); os.symlink(os.environ['OUTSIDE'], 'made')",
    ],
)
async def test_what_one_start_leaves_opens_nothing_for_the_next(locked: Den, program: str) -> None:
    outside = furnished(locked)
    (locked.workspace / "made").mkdir()
    folder = outside.parent / "beside"
    folder.mkdir()
    (folder / "word").write_text(SECRET)
    env = {"OUTSIDE": str(folder)}
    await locked.python(program, env=env, fallback="landlock")
    for path in ("made/word", "made/way/word", "src/own.txt"):
        look = f"print(open({path!r}).read())"
        ended = await locked.python(look, env=env, fallback="landlock")
        assert SECRET not in ended.stdout + ended.stderr
    assert ended.stdout == "mine\n"
    assert (folder / "word").read_text() == SECRET


async def test_a_guarded_file_that_is_replaced_stays_guarded(locked: Den) -> None:
    """The user saves `.env` anew while a program runs that waits for it."""
    furnished(locked)
    program = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
try:
    print(open(".env").read(), flush=True)
except OSError:
    print("closed", flush=True)
"""
    async with locked.started(python(program), fallback="landlock") as running:
        assert await asyncio.to_thread(_line, running.stdout.fileno()) == "ready"
        fresh = locked.workspace / "fresh"
        fresh.write_text("another secret")
        fresh.rename(locked.workspace / ".env")
        os.write(running.stdin.fileno(), b"go\n")
        assert await asyncio.to_thread(_line, running.stdout.fileno()) == "closed"


async def test_nothing_is_weaker_than_it_was_chosen_to_be(locked: Den) -> None:
    ran = locked.workspace / "ran"
    asked: tuple[dict[str, Any], ...] = (
        {},
        {"fallback": "landlock", "limits": {"processes": 4}},
    )
    for more in asked:
        with pytest.raises(Fault) as caught:
            await locked.run(("touch", str(ran)), **more)
        assert caught.value.reason == "sandbox-unavailable"
        assert not ran.exists()


async def test_bubblewrap_serves_wherever_it_works(den: Den) -> None:
    ended = await den.python("import os; print(os.getpid())", fallback="landlock")
    # Of a namespace of its own.
    assert int(ended.stdout) < 10
    assert den.sandbox.weaker("default", "landlock") == ""


def test_it_is_named_as_weaker(locked: Den) -> None:
    for name in (locked.sandbox.weaker("default", "landlock"), locked.sandbox.look("landlock")):
        assert "weaker than bubblewrap" in str(name)
    assert locked.sandbox.weaker("default", "none") == ""
    assert locked.sandbox.weaker("none", "landlock") == ""
    assert "can signal" in Landlock(version=4, machine="x86_64").words
    assert "can signal" not in Landlock(version=6, machine="x86_64").words


def test_a_kernel_without_it_is_refused(tmp_path: Path) -> None:
    nothing = LandlockProbe(System(name="Linux", machine="riscv64", release="6"))
    sandbox = Sandbox(Probe(folders=(str(tmp_path / "nothing"),)), landlock=nothing)
    found = sandbox.refusal("default", "landlock")
    assert isinstance(found, Unusable)
    assert "nor does the fallback work" in found.why
    assert sandbox.weaker("default", "landlock") == ""


@pytest.mark.parametrize(
    ("version", "size", "network", "scopes"),
    [(3, 8, 0, 0), (4, 16, 3, 0), (5, 16, 3, 0), (6, 24, 3, 3), (9, 24, 3, 3)],
)
def test_each_version_is_asked_for_what_it_knows(
    version: int, size: int, network: int, scopes: int
) -> None:
    found = handled(version, allow_network=False)
    assert (found.size, found.network, found.scopes) == (size, network, scopes)
    assert handled(version, allow_network=True).network == 0


def test_it_holds_an_ordinary_user_too() -> None:
    """One who may read and write the files outside, were it not for the walls."""
    program = """
import os, sys, socket
for work in (lambda: open(sys.argv[1]).read(), lambda: open(sys.argv[1], "w"),
             lambda: os.truncate(sys.argv[1], 0), lambda: os.listdir("/home"),
             lambda: os.kill(int(sys.argv[2]), 0), socket.socket):
    try:
        work()
        print("could")
    except OSError:
        pass
open("room/proof", "w").write(str(os.getuid()))
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        outside = folder / "outside"
        outside.write_text(SECRET)
        outside.chmod(0o666)
        (folder / "room").mkdir()
        (folder / "room").chmod(0o777)
        bystander = subprocess.Popen(["sleep", "60"], **ORDINARY)
        found = LandlockProbe().look()
        assert isinstance(found, Landlock)
        orders = written_orders(
            (SYSTEM_PYTHON, "-I", "-S", "-c", program, str(outside), str(bystander.pid)),
            env={},
            cwd=str(folder),
            version=found.version,
            machine=MACHINES[found.machine],
            allow_network=False,
            grants=[("/usr", READ), (str(folder / "room"), CHANGE)],
        )
        with orders, bystander:
            done = subprocess.run(
                [
                    *(SYSTEM_PYTHON, "-I", "-S", "-c", Path(starter.__file__).read_text()),
                    str(orders.fileno()),
                ],
                **ORDINARY,
                cwd="/",
                env={},
                pass_fds=[orders.fileno()],
                capture_output=True,
                text=True,
                check=False,
            )
            bystander.kill()
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert outside.read_text() == SECRET
        assert int((folder / "room" / "proof").read_text()) != 0


def is_there(path: str) -> bool:
    return Path(path).exists()


def _line(number: int) -> str:
    os.set_blocking(number, True)
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(number, 1)):
        line += byte
    return line.decode().strip()
