"""The supervisor may die at any time; what it looked after does not, and nothing is lost."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from yardlab import Lab, connects, get, is_alive, processes, wait_for

from support.measuring import unmeasured
from switchyard.supervisor.login import login_environment

SERVE = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'


def memory_kb(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1])


def switches(pid: int) -> int:
    """How often the threads of a process were woken so far."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        found = re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text())
        assert found
        total += int(found[1])
    return total


def test_no_line_and_no_service_is_lost_when_it_is_killed(lab: Lab) -> None:
    lab.config(
        "".join(
            f'[services.c{n}]\ncommand = [SVC, "count"]\nready = {{ log = "line 5" }}\n'
            for n in range(4)
        )
    )
    pids = {one["service"]: one["pid"] for one in lab.json("up")["services"]}
    lab.kill_supervisor()
    time.sleep(0.3)
    again = lab.json("up")
    assert again["started"] == []
    assert {one["service"]: one["pid"] for one in again["services"]} == pids
    assert lab.supervisor() is not None
    logs = [Path(one["log_path"]) for one in again["services"]]
    lab.json("down")
    assert lab.ours() == []
    for log in logs:
        lines = log.read_text().splitlines()
        assert lines == [f"line {number}" for number in range(len(lines))]
        assert len(lines) > 200


def test_restart_rules_hold_after_adoption(lab: Lab) -> None:
    lab.config(
        SERVE + 'restart = { policy = "always", backoff = "10ms" }\nenv = { MARK = "kept" }\n'
    )
    first = lab.json("up")["services"][0]
    lab.kill_supervisor()
    lab.json("up")
    os.kill(first["pid"], 9)
    second = wait_for(
        lambda: (
            (one := lab.service("web"))["phase"] == "ready" and one["pid"] != first["pid"] and one
        )
    )
    assert second["port"] == first["port"]
    assert processes()[second["pid"]]["env"]["MARK"] == "kept"
    assert second["run_id"] != first["run_id"]


def test_it_ends_when_nothing_is_left(lab: Lab) -> None:
    lab.config(SERVE)
    lab.json("up")
    lab.json("down")
    wait_for(lambda: lab.supervisor() is None)
    assert lab.service("web")["phase"] == "stopped"


def test_it_is_small_and_sleeps(lab: Lab) -> None:
    lab.env = unmeasured(lab.env)
    lab.config("".join(SERVE.replace("web", f"s{n}") for n in range(10)))
    lab.json("up")
    pid = lab.supervisor()
    assert pid
    assert memory_kb(pid) <= 22_000
    time.sleep(0.3)
    before, ticks = switches(pid), cpu_ticks(pid)
    time.sleep(2.0)
    assert switches(pid) - before <= 2
    assert cpu_ticks(pid) - ticks <= 1


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_it_does_not_carry_the_mark_of_a_run_it_was_started_from(lab: Lab) -> None:
    lab.config(SERVE)
    lab.sy("up", env={"SWITCHYARD_RUN_ID": "outer", "SWITCHYARD_SERVICE": "outer"})
    pid = lab.supervisor()
    assert pid
    assert "SWITCHYARD_RUN_ID" not in processes()[pid]["env"]
    lab.json("down")


def test_many_branches_at_once_get_ports_of_their_own(lab: Lab) -> None:
    lab.config("".join(SERVE.replace("web", f"s{n}") for n in range(3)))
    lab.repository()
    branches = [f"b{n}" for n in range(5)]
    for branch in branches:
        lab.json("create", branch)
    made: dict[str, list[int]] = {}

    def start(branch: str) -> None:
        services = lab.json("up", branch)["services"]
        made[branch] = [one["port"] for one in services]
        assert all(get(one["port"]).startswith(branch) for one in services)

    threads = [threading.Thread(target=start, args=(branch,)) for branch in branches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ports = [port for found in made.values() for port in found]
    assert len(ports) == 15
    assert len(set(ports)) == 15
    assert len(lab.json("status")["services"]) == 15


def test_two_projects_of_one_home_share_the_names(lab: Lab) -> None:
    lab.config(SERVE)
    other = lab.folder / "second"
    other.mkdir()
    text = (lab.root / "switchyard.toml").read_text().replace('"shop"', '"second"')
    (other / "switchyard.toml").write_text(text)
    lab.json("up")
    try:
        lab.json("up", cwd=other)
        for _ in range(8):
            assert get(lab.proxy_port, name="web.default.shop.localhost") == "default web"
            assert get(lab.proxy_port, name="web.default.second.localhost") == "default web"
    finally:
        lab.json("down", cwd=other)


def test_two_clones_of_one_repository_have_names_of_their_own(lab: Lab) -> None:
    """A second folder with the same configuration is another project, and told so."""
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    text = (lab.root / "switchyard.toml").read_text()
    clone = lab.folder / "clone"
    clone.mkdir()
    (clone / "switchyard.toml").write_text(text)
    first = lab.json("up")["services"][0]
    second = lab.json("up", cwd=clone)["services"][0]
    lab.cleanup(lambda: lab.json("down", cwd=clone))
    assert first["url"] == f"http://web.default.shop.localhost:{lab.proxy_port}"
    assert second["url"] != first["url"]
    host = second["url"].removeprefix("http://").partition(":")[0]
    assert get(lab.proxy_port, name=host) == "default web"
    assert not any("belongs to" in one for one in lab.json("doctor")["notes"])
    assert f"belongs to {lab.root};" in lab.json("doctor", cwd=clone)["notes"][0]
    lab.json("down")
    assert "nothing runs" in get(lab.proxy_port, name="web.default.shop.localhost")
    assert get(lab.proxy_port, name=host) == "default web"
    assert lab.json("up", cwd=clone)["services"][0]["url"] == second["url"]


def test_a_long_home_is_no_obstacle(lab: Lab) -> None:
    lab.config(SERVE)
    home = lab.folder / ("long" * 20) / ("home" * 10)
    done = lab.sy("up", "--json", env={"SWITCHYARD_HOME": str(home)})
    pid = done.json["services"][0]["pid"]
    lab.sy("down", env={"SWITCHYARD_HOME": str(home)})
    assert not is_alive(pid)


def test_a_project_that_is_moved_and_moved_back_goes_on(lab: Lab) -> None:
    lab.config(SERVE)
    port = lab.json("up")["services"][0]["port"]
    moved = lab.folder / "moved"
    lab.root.rename(moved)
    assert lab.json("status", cwd=moved)["services"][0]["reason"] == "project-moved"
    moved.rename(lab.root)
    assert lab.service("web")["status"] == "running"
    assert connects(port)
    lab.json("down")


def test_a_configuration_broken_meanwhile_does_not_hinder_stopping(lab: Lab) -> None:
    path = lab.config(SERVE)
    lab.json("up")
    path.write_text("[services.web]\nnonsense = 1\n")
    assert lab.json("up", code=2)["error"]["code"] == "config-invalid"
    assert lab.json("brief")["config_error"]["code"] == "config-invalid"
    lab.json("down")
    assert lab.ours() == []


def test_services_see_signals_as_they_are_used_to(lab: Lab) -> None:
    code = (
        "import signal, sys; bad = [s.name for s in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, "
        "signal.SIGTERM) if signal.getsignal(s) == signal.SIG_IGN]; "
        "print('ignored', bad, flush=True); signal.pause()"
    )
    lab.config(
        f"[services.a]\ncommand = [{json.dumps(sys.executable)}, '-c', {json.dumps(code)}]\n"
        'ready = { log = "ignored" }\n'
    )
    lab.json("up")
    assert lab.json("logs", "a")["logs"][0]["lines"] == ["ignored []"]


def test_the_login_shell_can_lend_its_variables(lab: Lab) -> None:
    profile = lab.folder / "user" / ".profile"
    profile.write_text("export FROM_LOGIN=yes\n")
    lab.config('[env]\ninherit = "login"\n[services.a]\ncommand = ["sleep", "100"]\n')
    bare = {"HOME": lab.env["HOME"], "PATH": lab.env["PATH"], "SHELL": "/bin/sh"}
    subprocess.run(
        [sys.executable, "-m", "switchyard", "up"],
        cwd=lab.root,
        env={**bare, "SWITCHYARD_HOME": str(lab.home)},
        check=True,
        capture_output=True,
    )
    assert lab.json("env", "a")["env"]["FROM_LOGIN"] == "yes"


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "odd"])
def test_only_variables_are_taken_from_a_login_shell_and_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    """What a profile prints is none, and what it sets for a person at a terminal is one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LC_ALL", raising=False)
    setup = "printf 'PRINTED=1\\0'; export FROM_LOGIN='two\nlines'\n"
    for name in (".profile", ".bash_profile"):
        (tmp_path / name).write_text(setup)
    (tmp_path / ".bashrc").write_text("export FROM_PERSON=1; echo PRINTED=2\n")
    (tmp_path / ".bash_profile").write_text(f"{setup}. ~/.bashrc\n")
    if shell == "odd":
        # One that takes no more words than it needs.
        odd = tmp_path / "odd"
        odd.write_text('#!/bin/sh\n[ "$2" = -c ] || exit 9\nexec /bin/sh -l -c "$3"\n')
        odd.chmod(0o755)
        shell = str(odd)
    found = login_environment({"SHELL": shell, "GIVEN": "1"})
    assert found["FROM_LOGIN"] == "two\nlines"
    assert found["GIVEN"] == "1"
    assert "PRINTED" not in found
    assert ("FROM_PERSON" in found) == (shell == "/bin/bash")


def test_a_full_log_is_put_aside_before_the_next_run(lab: Lab) -> None:
    lab.config(
        '[services.a]\ncommand = ["sh", "-c", "head -c 2000 /dev/zero | tr 0 x; echo; echo end; '
        'sleep 100"]\nready = { log = "end" }\n[logs]\nmax_size = "1KB"\nkeep = 1\n'
    )
    for _ in range(3):
        lab.json("up")
        lab.json("down")
    folder = lab.folder_of_state() / "logs" / "default"
    logs = sorted(one.name for one in folder.glob("a.log*") if one.suffix != ".marks")
    assert logs == ["a.log", "a.log.1"]


def test_it_keeps_nothing_open_that_its_first_caller_had(lab: Lab) -> None:
    """A caller may wait for the end of a pipe, which must not last as long as the supervisor."""
    lab.config(SERVE)
    ours, theirs = os.pipe()
    try:
        command = [sys.executable, "-m", "switchyard", "up"]
        subprocess.run(command, cwd=lab.root, env=lab.env, pass_fds=[theirs], check=True)
        os.close(theirs)
        os.set_blocking(ours, False)
        assert os.read(ours, 1) == b""
    finally:
        os.close(ours)
    assert lab.supervisor() is not None


def test_a_program_is_never_found_in_the_folder_by_its_bare_name(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = ["trap"]\n')
    trap = lab.root / "trap"
    trap.write_text("#!/bin/sh\nexec sleep 100\n")
    trap.chmod(0o755)
    failed = lab.sy("up", "--json", code=1)
    assert "No such file or directory: trap" in failed.json["error"]["message"]
    lab.config('[services.web]\ncommand = ["./trap"]\n')
    assert lab.json("up")["services"][0]["status"] == "running"
