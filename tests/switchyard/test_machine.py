"""What runs is found whatever became of its records, its folder or its project."""

import fcntl
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, is_alive, wait_for

WEB = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'
API = '[services.api]\ncommand = [SVC, "serve"]\nport = 0\n'


def test_a_run_whose_record_was_deleted_is_found_stopped_and_never_doubled(lab: Lab) -> None:
    lab.config(WEB + API)
    lab.json("up")
    before = sorted(lab.ours())
    lab.kill_supervisor()
    shutil.rmtree(lab.folder_of_state() / "runs")
    told = lab.json("status")["services"]
    assert {one["service"]: one["status"] for one in told} == {"web": "running", "api": "running"}
    assert sorted(one["pid"] for one in told) == before
    lab.json("up")
    assert sorted(lab.ours()) == before
    lab.record("web").unlink()
    assert {one["service"] for one in lab.json("down")["stopped"]} == {"web", "api"}
    assert lab.ours() == []


@pytest.mark.parametrize("supervised", [True, False])
def test_a_moved_project_still_tells_and_stops_what_it_started(
    lab: Lab, *, supervised: bool
) -> None:
    canonical = free_port()
    lab.config(WEB.replace("port = 0", f"port = {canonical}"))
    web = lab.json("up")["services"][0]
    lab.json("checkout")
    if not supervised:
        lab.kill_supervisor()
    there = lab.folder / "elsewhere"
    lab.root.rename(there)
    told = lab.json("status", cwd=there)["services"][0]
    assert (told["pid"], told["status"]) == (web["pid"], "running")
    assert lab.json("brief", cwd=there)["services"][0]["pid"] == web["pid"]
    [row] = lab.json("ps", cwd=lab.folder)["services"]
    assert (row["root"], row["root_gone"], row["pid"]) == (str(lab.root), True, web["pid"])
    assert len(lab.json("down", cwd=there)["stopped"]) == 1
    assert not is_alive(web["pid"])
    assert not connects(canonical)
    assert lab.json("status", cwd=there)["services"] == []


def test_a_start_in_a_moved_folder_tells_of_what_runs_from_before(lab: Lab) -> None:
    lab.config(WEB)
    before = lab.json("up")["services"][0]["pid"]
    there = lab.folder / "elsewhere"
    lab.root.rename(there)
    lab.cleanup(lambda: lab.sy("down", cwd=there, code=None))
    made = lab.json("up", cwd=there)
    assert f"started in {lab.root} before the folder was moved still runs" in made["warnings"][0]
    assert lab.json("down", cwd=there)["stopped"]
    assert not is_alive(before)
    assert lab.json("up", cwd=there)["warnings"] == []


def test_everything_of_every_project_is_shown_and_stopped_from_anywhere(lab: Lab) -> None:
    lab.config(WEB)
    other, third = lab.folder / "other", lab.folder / "third"
    for root in (other, third):
        root.mkdir()
        text = (lab.root / "switchyard.toml").read_text().replace('"shop"', f'"{root.name}"')
        (root / "switchyard.toml").write_text(text)
        lab.json("up", cwd=root)
    lab.json("up")
    shutil.rmtree(third)
    rows = lab.json("status", "--all", cwd=lab.folder)["services"]
    pids = [one["pid"] for one in rows]
    lab.cleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid in pids if is_alive(pid)])
    assert {one["project"]: one["root_gone"] for one in rows} == {
        "shop": False,
        "other": False,
        "third": True,
    }
    assert all(is_alive(pid) for pid in pids)
    assert str(third) in lab.sy("ps", cwd=lab.folder).out
    stopped = lab.json("down", "--all", cwd=lab.folder)
    assert stopped["failed"] == []
    assert len(stopped["stopped"]) == len(pids) == 3
    assert not any(is_alive(pid) for pid in pids)
    assert lab.json("ps", cwd=lab.folder)["services"] == []


def test_another_home_is_another_world(lab: Lab) -> None:
    lab.config(WEB)
    web = lab.json("up")["services"][0]
    env = {"SWITCHYARD_HOME": str(lab.folder / "second")}
    assert lab.sy("ps", "--json", env=env).json["services"] == []
    assert lab.sy("status", "--json", env=env).json["services"] == []
    assert lab.sy("down", "--json", env=env).json["stopped"] == []
    assert lab.sy("down", "--all", "--json", env=env).json["stopped"] == []
    assert is_alive(web["pid"])


def test_a_stranger_on_a_reserved_port_is_told_and_left_alone(lab: Lab) -> None:
    lab.config(WEB)
    port = lab.json("up")["services"][0]["port"]
    lab.json("down")
    lab.listener(port)
    [told] = lab.json("ps")["strangers"]
    assert (told["port"], told["pid"], told["service"]) == (port, os.getpid(), "web")
    lab.json("down", "--all")
    assert connects(port)


def test_all_takes_no_branch(lab: Lab) -> None:
    lab.config(WEB)
    assert lab.json("down", "--all", "main", code=2)["error"]["code"] == "usage"


def test_what_wrote_over_its_variables_is_restarted_with_them(lab: Lab) -> None:
    """After adoption they cannot be read back, so they are made again."""
    lab.config(
        '[services.redis]\ncommand = ["sh", "-c", "exec redis-server --port $PORT --save \'\'"]\n'
        'port = 0\nprotocol = "tcp"\nrestart = { policy = "always", backoff = "10ms" }\n'
        'env = { MINE = "1" }\n'
    )
    first = lab.json("up")["services"][0]
    wait_for(lambda: b"MINE=1" not in Path(f"/proc/{first['pid']}/environ").read_bytes())
    shown = lab.json("env", "redis")["env"]
    assert (shown["MINE"], shown["PORT"]) == ("1", str(first["port"]))
    assert "HOME" in shown
    lab.kill_supervisor()
    lab.json("up")
    os.kill(first["pid"], signal.SIGKILL)
    wait_for(
        lambda: (
            (found := lab.service("redis"))["phase"] == "ready"
            and found["pid"] not in (None, first["pid"])
        )
    )
    second = lab.service("redis")["pid"]
    lab.cleanup(lambda: is_alive(second) and os.kill(second, signal.SIGKILL))
    lab.json("down")
    assert not is_alive(second)


def test_ps_fits_the_terminal(lab: Lab) -> None:
    lab.config('[services.a-service-of-a-rather-long-name]\ncommand = [SVC, "serve"]\nport = 0\n')
    lab.json("up")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-m", "switchyard", "ps"]
    subprocess.run(command, cwd=lab.root, env=lab.env, stdout=theirs, check=True, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 65_536).decode().splitlines()
    os.close(ours)
    assert max(map(len, shown)) <= 100, shown
    # Of the folder its end is left, and the address is whole.
    assert f"{lab.root.name}  " in shown[1]
    assert lab.json("ps")["services"][0]["direct_url"] in shown[1]
    piped = lab.sy("ps").out
    assert str(lab.root) in piped
    assert max(map(len, piped.splitlines())) > 100
