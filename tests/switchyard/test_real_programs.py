"""Real programs that write over their variables, lose their first process or become daemons."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from yardlab import Json, Lab, connects, is_alive, wait_for

NGINX = """
daemon off; worker_processes 2; pid nginx.pid; error_log stderr;
events {} http { access_log off; server { listen 127.0.0.1:PORT; } }
"""


def children(pid: int) -> list[int]:
    """Ask the kernel, without the code under test, who has this parent."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and is_alive(int(entry.name)):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                found.append(int(entry.name))
    return sorted(found)


def end_all(pids: list[int]) -> None:
    for pid in pids:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def agreed(lab: Lab, name: str) -> Json:
    """Hold the answers of where, status and brief against each other, and give one."""
    where = lab.service(name)
    for verb in ("status", "brief"):
        told = next(one for one in lab.json(verb)["services"] if one["service"] == name)
        assert (told["status"], told["phase"]) == (where["status"], where["phase"])
    return where


@pytest.mark.parametrize("supervised", [True, False])
def test_workers_of_nginx_without_their_master_are_told_and_stopped(
    lab: Lab, *, supervised: bool
) -> None:
    (lab.root / "nginx.txt").write_text(NGINX)
    script = f"sed s/PORT/$PORT/ nginx.txt > n.conf; exec nginx -p {lab.root}/ -c {lab.root}/n.conf"
    lab.config(f'[services.web]\ncommand = ["sh", "-c", "{script}"]\nport = 0\n')
    web = lab.json("up")["services"][0]
    workers = wait_for(lambda: len(found := children(web["pid"])) == 2 and found)
    lab.cleanup(lambda: end_all([web["pid"], *workers]))
    if not supervised:
        lab.kill_supervisor()
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(web["pid"]))
    told = wait_for(lambda: (found := lab.service("web"))["phase"] == "orphaned" and found)
    assert sorted(told["pids"]) == workers
    agreed(lab, "web")
    assert connects(web["port"])
    assert lab.json("down")["stopped"][0]["port_free"] is True
    assert not any(is_alive(pid) for pid in workers)
    assert not connects(web["port"])


@pytest.mark.parametrize("supervised", [True, False])
def test_a_redis_that_becomes_a_daemon_is_told_and_never_leaked(
    lab: Lab, *, supervised: bool
) -> None:
    words = '"redis-server", "--daemonize", "yes", "--port", "{port}", "--save", ""'
    pidfile = lab.folder / "redis.pid"
    lab.config(
        f'[services.redis]\ncommand = [{words}, "--pidfile", "{pidfile}"]\nport = 0\n'
        'protocol = "tcp"\n'
    )
    daemons: list[int] = []
    port = 0
    lab.cleanup(lambda: end_all(daemons))
    for _ in range(2):
        lab.json("up", code=1)
        daemons.append(wait_for(lambda: pidfile.exists() and int(pidfile.read_text())))
        told = agreed(lab, "redis")
        assert (told["phase"], told["pids"]) == ("orphaned", [daemons[-1]])
        port = told["port"]
    assert not is_alive(daemons[0])
    assert is_alive(daemons[1])
    if not supervised:
        lab.be_without_supervisor()
        assert agreed(lab, "redis")["phase"] == "orphaned"
    assert lab.json("down")["stopped"][0]["port_free"] is True
    assert not is_alive(daemons[1])
    assert not connects(port)


def test_a_later_session_of_the_same_number_is_a_stranger(lab: Lab) -> None:
    """Its leader is gone too, but its variables can be read, and are not ours."""
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    web = lab.json("up")["services"][0]
    os.kill(web["pid"], signal.SIGKILL)
    lab.kill_supervisor()
    shell = subprocess.Popen(
        ["sh", "-c", f'"{sys.executable}" -c "import time; time.sleep(100)" & echo $!; exit 0'],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shell.stdout
    with shell.stdout:
        stranger = int(shell.stdout.readline())
    lab.cleanup(lambda: end_all([stranger]))
    shell.wait()
    record = lab.record("web")
    record.write_text(record.read_text().replace(f'"pid":{web["pid"]}', f'"pid":{shell.pid}'))
    wait_for(lambda: (Path(f"/proc/{stranger}/environ")).read_bytes())
    assert lab.service("web")["phase"] in ("crashed", "exited")
    lab.json("down")
    assert is_alive(stranger)


def test_down_names_who_holds_a_port_that_is_not_free(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = [SVC, "say", "hello"]\nport = 0\n')
    lab.json("up", "--no-wait")
    lab.listener(lab.service("web")["port"])
    said = lab.sy("down").out
    assert f"its port is held by process {os.getpid()}" in said


# Listens in a child while the first process is still there, and leaves it some milliseconds later.
LEAVES = """
import os, socket, sys, time
s = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
if os.fork():
    time.sleep(float(sys.argv[1]) / 1000)
    os._exit(0)
time.sleep(100)
"""


def test_no_start_succeeds_with_a_service_that_has_ended(lab: Lab) -> None:
    (lab.root / "leaves.py").write_text(LEAVES)
    for wait_ms in range(0, 24, 2):
        words = json.dumps([sys.executable, "-S", "-E", "leaves.py", str(wait_ms)])
        lab.config(f'[services.web]\ncommand = {words}\nport = 0\nprotocol = "tcp"\n')
        made = lab.json("up", code=None)
        if made["ok"]:
            assert [one["status"] for one in made["services"]] == ["running"]
        lab.json("down")
