"""The machine around a sandbox: what root would see of it, and disks that come while it runs."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from sandbox.den import INTERPRETER, Den
from sandbox.test_files import READ
from support.requirements import attack
from switchboard.sandbox.walls.ground import closed_to_others

IS_ROOT = os.getuid() == 0


def closed_in(folder: str) -> list[str]:
    """What its owner has closed to others, looked for anew."""
    found: list[str] = []
    for inner, _, names in os.walk(folder):
        for name in names:
            path = f"{inner}/{name}"
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and not mode & stat.S_IROTH:
                found.append(path)
    return found


@attack("B17")
async def test_root_reads_no_settings_that_are_closed_to_others(den: Den) -> None:
    """Such as `/etc/shadow-`, whatever its name."""
    closed = closed_in("/etc")
    said = (await den.python(READ, *closed, "/etc/passwd")).said
    assert "root" in said.pop("/etc/passwd")
    assert {path: found for path, found in said.items() if isinstance(found, str)} == {}


async def test_root_sees_the_folders_of_programs_and_what_was_opened_alone(den: Den) -> None:
    """Of everything else root could read all."""
    listing = "import os; print(*sorted(os.listdir('/')), *os.listdir('/var'))"
    shown = set((await den.python(listing)).stdout.split())
    here = {*den.workspace.parts[1:2], *INTERPRETER.parts[1:2], Path(sys.executable).parts[1]}
    if not IS_ROOT:
        # The kernel keeps an ordinary user from what is not the user's affair.
        assert "usr" in shown
        return
    usual = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "nix", "gnu"}
    own = {"dev", "proc", "sys", "run", "tmp", "root", "mnt", "media", "var", "cache", "lock"}
    assert shown <= usual | own | here
    assert isinstance((await den.python(READ, __file__)).said[__file__], int)


def test_a_file_that_is_closed_anew_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    assert closed_to_others(str(tmp_path)) == ()
    (tmp_path / "inner" / "key").touch(0o600)
    (tmp_path / "private").mkdir(0o700)
    (tmp_path / "plain").touch(0o644)
    (tmp_path / "link").symlink_to("inner/key")
    names = ("inner/key", "private")
    assert closed_to_others(str(tmp_path)) == tuple(str(tmp_path / each) for each in names)


# In a namespace of its own, whose mounts are passed on to others as those of a machine are.
LATE = """
import asyncio, ctypes, os, sys
from pathlib import Path
from sandbox.den import PATIENCE, Den, python
from sandbox.test_replaced import TELLS, line

async def in_a_pause(den, running):
    # It was looked at just now, for a file that is nobody's affair, and rests for a moment.
    walls = running._walls
    async with asyncio.timeout(PATIENCE):
        while walls._early is not None or walls._next is not None:
            await asyncio.sleep(0.001)
        (den.workspace / "new").touch()
        while walls._next is None:
            await asyncio.sleep(0)

async def main():
    den = Den(Path(sys.argv[1]))
    (den.workspace / ".env").touch()
    for place in ("/media", "/usr/local/src", "/usr/local/games"):
        async with den.started(python(TELLS)) as running:
            assert await line(running) == "runs\\n"
            if place.endswith("games"):
                await in_a_pause(den, running)
            assert ctypes.CDLL(None).mount(b"none", place.encode(), b"tmpfs", 0, None) == 0
            done, _ = await asyncio.wait({running.exited}, timeout=20 if "usr" in place else 0.5)
            print(place, bool(done), getattr(running.denial(), "reason", None), flush=True)

asyncio.run(main())
"""


@attack("B16")
def test_a_disk_that_is_mounted_while_it_runs_is_never_written(tmp_path: Path) -> None:
    """It comes into the sandbox too, and as writable as it is outside: so the sandbox ends.

    Where disks usually come, they do not even show.
    """
    alone = ("unshare", *(() if IS_ROOT else ("--user", "--map-root-user")), "--mount")
    command = (*alone, "--propagation", "shared", sys.executable, "-c", LATE)
    done = subprocess.run(
        [*command, tmp_path],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "/media False None",
        "/usr/local/src True sandbox-late-mount",
        "/usr/local/games True sandbox-late-mount",
    ], done.stderr
