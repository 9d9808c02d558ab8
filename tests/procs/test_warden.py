"""However we end, the warden ends what we started, and nobody else's processes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import alive, children_of, until_gone, until_true
from support.requirements import requirement
from support.workspace import CHECKOUT
from switchboard.procs import sessions, warden

# Starts a stubborn family through `spawn`, tells its pids, and waits to be killed.
OWNER = """
import asyncio, json, os, sys
from switchboard.procs.spawn import SpawnSpec, Warden, spawn
FAMILY = '''
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(600)
time.sleep(600)
'''
async def main():
    spec = SpawnSpec(argv=(sys.executable, "-I", "-S", "-c", FAMILY), cwd="/", env={})
    running = await spawn(spec, warden=Warden(), timeout_s=10)
    child = int(await asyncio.to_thread(running.stdout.readline))
    print(json.dumps([running.pid, child]), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
SLEEP = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")


@requirement("S2.52")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_when_our_process_is_ended_by_any_signal_no_child_outlives_it(number: int) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OWNER,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": str(CHECKOUT / "src")},
    )
    assert owner.stdout is not None
    async with asyncio.timeout(15):
        family = json.loads(await owner.stdout.readline())
    keeper = [pid for pid in children_of(owner.pid) if pid not in family]
    assert len(keeper) == 1
    owner.send_signal(number)
    await owner.wait()
    await until_gone([*family, *keeper])


async def test_the_warden_itself_cannot_be_ended_from_a_terminal() -> None:
    command = f"import sys; sys.path.insert(0, {str(CHECKOUT / 'src')!r})\n"
    command += "from switchboard.procs.warden import main; main()"
    keeper = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", command, stdin=subprocess.PIPE
    )
    victim = await asyncio.create_subprocess_exec(*SLEEP, start_new_session=True)
    assert keeper.stdin is not None
    keeper.stdin.write(f"+{victim.pid} {sessions.start_ticks(victim.pid)}\n".encode())
    await keeper.stdin.drain()
    # It ignores signals as soon as its main part runs, and then it reads.
    await until_true(lambda: _ignores(keeper.pid, signal.SIGTERM))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        keeper.send_signal(number)
    assert alive(victim.pid)
    keeper.stdin.close()
    async with asyncio.timeout(15):
        assert await keeper.wait() == 0
        assert await victim.wait() == -signal.SIGTERM


async def test_a_number_that_belongs_to_somebody_else_by_now_is_left_alone() -> None:
    stranger = await asyncio.create_subprocess_exec(*SLEEP, start_new_session=True)
    try:
        ticks = sessions.start_ticks(stranger.pid)
        assert ticks is not None
        warden.end({stranger.pid: ticks - 1})
        assert alive(stranger.pid)
    finally:
        stranger.kill()
        await stranger.wait()


def test_the_warden_forgets_what_has_ended_and_reads_lines_in_pieces() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"+11 5\n+22 6\n-11\n+3")
    os.write(writing, b"3 7\n-44\n")
    os.close(writing)
    try:
        assert warden.watch(reading) == {22: 6, 33: 7}
    finally:
        os.close(reading)


async def test_members_of_a_session_are_found_in_any_process_group(tmp_path: Path) -> None:
    text = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setpgid(0, 0)\n"
        f"    open({str(tmp_path / 'pid')!r} + '.new', 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(tmp_path / 'pid')!r} + '.new', {str(tmp_path / 'pid')!r})\n"
        "time.sleep(600)"
    )
    leader = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", text, start_new_session=True
    )
    await until_true((tmp_path / "pid").exists)
    child = int((tmp_path / "pid").read_text())
    assert sorted(sessions.members(leader.pid)) == sorted([leader.pid, child])
    sessions.kill(leader.pid)
    assert await leader.wait() == -signal.SIGKILL
    await until_gone([child])
    assert sessions.members(leader.pid) == []
    assert sessions.start_ticks(leader.pid) is None


def _ignores(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    [mask] = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")]
    return bool(int(mask, 16) & (1 << (number - 1)))
