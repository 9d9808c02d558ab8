"""What a flood of connections or a bad file does to one port, it does to no other."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, get, is_alive, wait_for

LIMIT = 1024
FLOOD = 5000
# Opens connections without waiting for any, says so, and holds them until its input ends.
CROWD = """
import socket, sys, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
for _ in range(int(sys.argv[2])):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", int(sys.argv[1])))
    held.append(one)
print("open", flush=True)
sys.stdin.read()
"""


class Flood:
    """Thousands of connections to one port, held open by a process of their own."""

    def __init__(self, lab: Lab, port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", CROWD, str(port), str(FLOOD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        lab.cleanup(self.end)
        assert self._process.stdout
        assert self._process.stdout.readline() == b"open\n"

    def end(self) -> None:
        self._process.communicate()


def limited(lab: Lab, *words: str) -> None:
    """Run a command, and so the supervisor that it starts, with few files to open."""
    command = ["sh", "-c", f'ulimit -n {LIMIT}; exec "$@"', "sh"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "switchyard", *words],
        cwd=lab.root,
        env=lab.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def ports(lab: Lab) -> tuple[int, int]:
    """Give the canonical ports of two services, both checked out."""
    first, second = free_port(), free_port()
    lab.config(
        f'[services.web]\ncommand = [SVC, "serve"]\nport = {first}\n'
        f'[services.api]\ncommand = [SVC, "serve"]\nport = {second}\n'
    )
    limited(lab, "up")
    lab.json("checkout")
    return first, second


def test_a_flooded_port_leaves_every_other_and_every_command_working(
    lab: Lab, ports: tuple[int, int]
) -> None:
    web, api = ports
    supervisor = lab.supervisor()
    assert supervisor is not None
    flood = Flood(lab, web)
    told = wait_for(
        lambda: [one for one in lab.json("doctor", code=None)["problems"] if str(web) in one]
    )
    assert "takes no further connections" in told[0]
    assert get(api) == "default api"
    assert "default web" in get(lab.proxy_port, name="web.default.shop.localhost")
    assert len(list(Path(f"/proc/{supervisor}/fd").iterdir())) < LIMIT
    assert {one["phase"] for one in lab.json("status")["services"]} == {"ready"}
    flood.end()
    assert wait_for(lambda: get(web)) == "default web"
    wait_for(lambda: lab.json("doctor", code=None)["problems"] == [])
    Flood(lab, web)
    stopped = lab.json("down")["stopped"]
    assert {one["service"] for one in stopped} == {"api", "web"}
    assert lab.ours() == []
    assert not connects(api)


def test_a_name_that_cannot_be_looked_up_hurts_no_port(lab: Lab, ports: tuple[int, int]) -> None:
    web, _ = ports
    state = lab.home / "state.json"
    good = state.read_text()
    state.write_text(json.dumps({**json.loads(good), "version": 99}))
    assert "newer" in get(lab.proxy_port, name="web.default.shop.localhost")
    state.write_text(good)
    assert get(lab.proxy_port, name="web.default.shop.localhost") == "default web"
    assert get(web) == "default web"


def test_services_keep_the_number_of_files_that_the_caller_allows(lab: Lab) -> None:
    said = "import resource; print('files', resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    code = json.dumps(f"import time; time.sleep(0.3); {said}; time.sleep(100)")
    lab.config(f'[services.web]\ncommand = ["{sys.executable}", "-u", "-c", {code}]\n')
    soft = 512
    command = ["sh", "-c", f'ulimit -S -n {soft}; exec "$@"', "sh"]
    words = [*command, sys.executable, "-m", "switchyard", "up"]
    subprocess.run(words, cwd=lab.root, env=lab.env, capture_output=True, timeout=60, check=True)
    lines = wait_for(lambda: lab.json("logs", "web")["logs"][0]["lines"])
    assert lines == [f"files {soft}"]
    supervisor = lab.supervisor()
    assert supervisor is not None
    assert is_alive(supervisor)
    limits = Path(f"/proc/{supervisor}/limits").read_text()
    row = next(line for line in limits.splitlines() if line.startswith("Max open files"))
    assert int(row.split()[3]) > soft


def test_a_connection_that_is_gone_at_once_is_none(lab: Lab, ports: tuple[int, int]) -> None:
    web, _ = ports
    for _ in range(200):
        socket.create_connection(("127.0.0.1", web), 5).close()
    assert get(web) == "default web"
    assert lab.json("doctor")["problems"] == []
