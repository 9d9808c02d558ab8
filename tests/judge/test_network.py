"""The networks of the judge: their links can be cut, and nothing of them is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from judge import network as networks
from judge.network import NoNetwork, ip, network, sweep
from support.processes import wait_until_gone

TESTS = Path(__file__).parents[1]
_SERVES = """
import socket, sys
with socket.create_server((sys.argv[1], 7777)) as server:
    print("ready", flush=True)
    while True:
        server.accept()[0].close()
"""
_CONNECTS = "import socket, sys; socket.create_connection((sys.argv[1], 7777), 1)"
_IS_KILLED = """
import subprocess, sys
from judge.network import Network
made = Network()
made.add("one")
slept = subprocess.Popen([*made.command("one"), "sleep", "600"])
print(made.name_of("one"), slept.pid, flush=True)
sys.stdin.read()
"""


def test_a_link_that_is_cut_lets_nothing_through_until_it_is_healed() -> None:
    with network() as made:
        near = made.add("near")
        made.add("far")
        words = [*made.command("near"), sys.executable, "-c", _SERVES, near]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"

            def connects() -> bool:
                asked = [*made.command("far"), sys.executable, "-c", _CONNECTS, near]
                done = subprocess.run(asked, stderr=subprocess.DEVNULL, check=False)
                return done.returncode == 0

            assert connects()
            made.cut("far")
            assert not connects()
            made.heal("far")
            assert connects()
            server.kill()


def test_what_a_killed_run_left_is_ended_and_removed_by_the_next() -> None:
    words = [sys.executable, "-c", _IS_KILLED]
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    with (
        network() as live,
        subprocess.Popen(words, stdin=-1, stdout=-1, env=env) as doomed,
    ):
        assert doomed.stdout is not None
        name, pid = doomed.stdout.readline().decode().split()
        doomed.kill()
        doomed.wait()
        swept = sweep()
        assert name in swept
        # Those of a living run are left alone.
        assert not [each for each in swept if each.startswith(live.start)]
        assert name not in ip("netns", "list")
        wait_until_gone([int(pid)])


def test_where_no_namespace_can_be_made_the_judge_fails_with_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NoNetwork, match="it takes root"):
        ip("netns", "add", "a/b")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoNetwork, match="apt-get install iproute2"):
        networks.Network()
