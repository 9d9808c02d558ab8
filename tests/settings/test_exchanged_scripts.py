"""A script that is exchanged between the last look and its interpreter, and then put back.

The racer is a program of its own. The kernel tells it that the script has been looked at; it then
puts another in its place, and puts the first back once the other runs.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from textwrap import dedent

import pytest
from msgspec import Raw

from settings.ground import Ground
from support.processes import until_gone
from support.requirements import attack, requirement
from support.workspace import child_command
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Session
from switchboard.daemon.board.runtime import running
from switchboard.settings.trust import trust

RACER = dedent(
    """
    import ctypes, os, sys

    how, script, marker = sys.argv[1:]
    folder, name = os.path.split(script)
    libc = ctypes.CDLL(None, use_errno=True)


    def swap():
        if how == "file":
            os.rename(script, script + ".good")
            os.rename(script + ".evil", script)
        elif how == "folder":
            os.rename(folder, folder + ".good")
            os.rename(folder + ".evil", folder)
        elif how == "link":
            os.rename(script, script + ".good")
            os.symlink(script + ".evil", script)
        elif how == "content":
            evil = open(script + ".evil").read()
            with open(script, "r+") as file:
                file.write(evil)


    def put_back():
        if how == "file":
            os.rename(script, script + ".evil")
            os.rename(script + ".good", script)
        elif how == "folder":
            os.rename(folder, folder + ".evil")
            os.rename(folder + ".good", folder)
        elif how == "link":
            os.unlink(script)
            os.rename(script + ".good", script)
        elif how == "content":
            before = os.stat(script)
            with open(script, "r+") as file:
                file.write(good)
            # As far as anybody but the kernel can.
            os.utime(script, ns=(before.st_atime_ns, mtime))


    good, mtime = open(script).read(), os.stat(script).st_mtime_ns
    looked, ran = libc.inotify_init1(os.O_CLOEXEC), libc.inotify_init1(os.O_CLOEXEC)
    # Closed, not written: somebody has read it to the end.
    assert libc.inotify_add_watch(looked, script.encode(), 0x10) > 0
    # Closed, written.
    assert libc.inotify_add_watch(ran, os.path.dirname(marker).encode(), 0x8) > 0
    print("ready", flush=True)
    os.read(looked, 4096)
    swap()
    os.read(ran, 4096)
    put_back()
    print("won", flush=True)
    """
)
EVIL = "with open({marker!r}, 'w') as file:\n    file.write(str(__import__('os').getpid()))\n"
SERVER = dedent(
    """
    import os, runpy, sys
    sys.argv = ["x", "x"]
    sys.path.insert(0, os.path.dirname({server!r}))
    runpy.run_path({server!r}, run_name="__main__")
    """
)
# Servers write beside their scripts, and Python beside modules.
BUSY = dedent(
    """
    import helper, os
    here = os.path.dirname(os.path.abspath(__file__))
    for number in range(20):
        with open(os.path.join(here, f"state-{number}"), "w") as file:
            file.write("state")
        os.rename(os.path.join(here, f"state-{number}"), os.path.join(here, "state"))
    open(os.path.join(here, "server.log"), "w").close()
    """
)


class Arena:
    """A trusted server of a workspace, and another script that would like to be it."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.script = ground.workspace / "src" / "server.py"
        self.marker = ground.user_home / "marker" / "pid"
        self.marker.parent.mkdir()
        self.good = SERVER.format(server=str(child_command("echo_child", "x")[1]))
        self.evil = EVIL.format(marker=str(self.marker)) + self.good
        # As long as the other, for who writes over it in place.
        pad = "#" * (len(self.evil) - len(self.good) - 1) + "\n"
        ground.put(self.script, self.good + pad)

    def trust(self, *args: str) -> None:
        entry = {"command": sys.executable, "args": ["src/server.py", *args]}
        self.ground.put(self.ground.own / "mcp.json", {"mcpServers": {"x": entry}})
        trust(self.ground.load(trusted=False))

    @contextmanager
    def racer(self, how: str) -> Generator["subprocess.Popen[str]"]:
        """Give one who waits for the next look."""
        evil = self.script.with_name("server.py.evil")
        if how == "folder":
            evil = self.ground.workspace / "src.evil" / "server.py"
        self.ground.put(evil, self.evil)
        words = [sys.executable, "-c", RACER, how, str(self.script), str(self.marker)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as racer:
            try:
                assert racer.stdout is not None
                assert racer.stdout.readline() == "ready\n"
                yield racer
            finally:
                racer.kill()

    async def listed(self, how: str = "") -> Outcome:
        """Ask the server for its tools, which starts it; with a racer beside it."""
        settings = self.ground.load(trusted=False)
        environ = {"PATH": os.environ["PATH"]}
        async with running(settings, environ=environ, events=EventBus()) as runtime:
            with runtime.boards.lease() as board:
                call = Call(
                    id="c",
                    session=Session(id="s", via="test", workspace=settings.workspace),
                    tool=board.catalog.tools["x_suite"],
                    arguments=Raw(b'{"action":"introspect"}'),
                )
                if not how:
                    return await board.pipeline(call)
                with self.racer(how) as racer:
                    try:
                        return await board.pipeline(call)
                    finally:
                        assert racer.stdout is not None
                        won = await asyncio.to_thread(racer.stdout.readline)
                        assert won == "won\n", "the racer has not put it back"


@pytest.fixture
def arena(ground: Ground) -> Arena:
    return Arena(ground)


@requirement("S3.26")
@pytest.mark.parametrize("how", ["file", "folder", "link", "content"])
@pytest.mark.parametrize("times", [1, 2, 3])
@attack("B13")
async def test_an_exchanged_script_answers_nothing_and_is_ended(
    arena: Arena, how: str, times: int
) -> None:
    del times
    arena.trust()
    before = arena.script.read_text("utf-8")
    with pytest.raises(Fault) as caught:
        await arena.listed(how)
    assert arena.script.read_text("utf-8") == before
    fault = caught.value
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "server-changed")
    assert "exchanged while it started" in fault.message
    await until_gone([int(arena.marker.read_text("utf-8"))])
    # What was put back is what was trusted, and serves.
    assert not (await arena.listed()).is_error


async def test_a_script_that_did_its_work_and_left_without_a_word_is_told_of(arena: Arena) -> None:
    """Nothing else would show it: the start that follows is one of the script that was put back."""
    arena.evil = EVIL.format(marker=str(arena.marker))
    arena.trust()
    with pytest.raises(Fault, match="exchanged while it started"):
        await arena.listed("file")


async def test_a_server_that_writes_beside_its_script_starts(arena: Arena) -> None:
    ground = arena.ground
    ground.put(arena.script.with_name("helper.py"), "VALUE = 1\n")
    log = ground.put(arena.script.with_name("server.log"), "")
    ground.put(arena.script, BUSY + arena.good)
    arena.trust(str(log))
    for _ in range(2):
        assert not (await arena.listed()).is_error
    assert arena.script.with_name("state").is_file()


async def test_a_script_that_was_changed_just_now_starts(arena: Arena) -> None:
    arena.trust()
    arena.script.touch()
    assert not (await arena.listed()).is_error
