"""The status-truth matrix: what is done to a running project, and what must then be true.

Each case gets a lab with one running service and a seeded source of chance. It does its harm and
returns. The judge in `verdict` then compares every answer with the process table.
"""

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from matrix_case import SERVE, Case, Expected, end
from matrix_programs import PROGRAM_CASES
from matrix_projects import PROJECT_CASES
from yardlab import Json, Lab, at_work, connects, free_port, is_alive, wait_for


def _pause(chance: random.Random) -> None:
    time.sleep(chance.choice((0, 0, 0.01, 0.05)))


def _edit(lab: Lab, **changes: object) -> None:
    path = lab.record("web", lab.branch_slug())
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _leader_killed(_: Lab, web: Json, chance: random.Random) -> Expected:
    os.kill(web["pid"], chance.choice((signal.SIGKILL, signal.SIGSEGV)))
    wait_for(lambda: not is_alive(web["pid"]))
    return Expected("stale", ("crashed", "exited"))


def _group_killed(_: Lab, web: Json, __: random.Random) -> Expected:
    os.killpg(web["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(web["pid"]))
    return Expected("stale", ("crashed", "exited"))


def _exits(_: Lab, web: Json, __: random.Random) -> Expected:
    wait_for(lambda: not is_alive(web["pid"]))
    return Expected("stale", ("crashed", "exited"))


def _wrapper_killed(lab: Lab, web: Json, _: random.Random) -> Expected:
    wait_for(lambda: len(lab.family(web["run_id"])) > 1)
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(web["pid"]))
    return Expected("stale", ("orphaned",), "leader-gone")


def _daemonised(lab: Lab, web: Json, _: random.Random) -> Expected:
    wait_for(lambda: not is_alive(web["pid"]) and lab.family(web["run_id"]))
    return Expected("stale", ("orphaned",), "leader-gone")


def _zombie(lab: Lab, web: Json, _: random.Random) -> Expected:
    """The record's process is a zombie whose parent, this test, does not look."""
    os.kill(web["pid"], signal.SIGKILL)
    lab.kill_supervisor()
    child = subprocess.Popen(["sleep", "100"])
    lab.cleanup(lambda: child.wait(5))
    ticks = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
    os.kill(child.pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(child.pid))
    _edit(lab, pid=child.pid, ticks=ticks, phase="ready", reason=None)
    return Expected("stale", ("exited",), "gone")


def _pid_reused(lab: Lab, web: Json, _: random.Random) -> Expected:
    os.kill(web["pid"], signal.SIGKILL)
    lab.kill_supervisor()
    stranger = lab.stranger()
    _edit(lab, pid=stranger, phase="ready", reason=None)
    return Expected("stale", ("exited",), "pid-reused")


def _other_boot(lab: Lab, web: Json, _: random.Random) -> Expected:
    os.kill(web["pid"], signal.SIGKILL)
    lab.kill_supervisor()
    _edit(lab, pid=lab.stranger(), boot_id="another-boot", phase="ready", reason=None)
    return Expected("stale", ("exited",), "reboot")


def _supervisor_killed(lab: Lab, _: Json, chance: random.Random) -> Expected:
    lab.kill_supervisor()
    _pause(chance)
    return Expected("running", ("ready",))


def _all_killed(lab: Lab, web: Json, chance: random.Random) -> Expected:
    lab.json("checkout", code=None)
    mcp = subprocess.Popen(
        [sys.executable, "-m", "switchyard", "mcp"],
        cwd=lab.root,
        env=lab.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    supervisor = lab.supervisor()
    assert supervisor is not None
    victims = [mcp.pid, supervisor]
    dies = chance.random() < 0.5
    if dies:
        victims.append(web["pid"])
    chance.shuffle(victims)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
        _pause(chance)
    mcp.communicate(timeout=5)
    wait_for(lambda: not any(is_alive(pid) for pid in victims))
    return Expected("stale", ("exited", "crashed")) if dies else Expected("running", ("ready",))


def _suspended(_: Lab, web: Json, __: random.Random) -> Expected:
    os.kill(web["pid"], signal.SIGSTOP)
    return Expected("running", ("unhealthy",), "suspended")


def _port_stolen(lab: Lab, web: Json, _: random.Random) -> Expected:
    lab.listener(web["port"])
    return Expected("running", ("port_conflict",), "port-taken")


def _record_cut(lab: Lab, _: Json, chance: random.Random) -> Expected:
    if chance.random() < 0.5:
        lab.kill_supervisor()
    path = lab.record("web", lab.branch_slug())
    raw = path.read_bytes()
    path.write_bytes(raw[: chance.randrange(len(raw) - 1)])
    return Expected("running", ("ready", "starting"))


def _records_deleted(lab: Lab, _: Json, chance: random.Random) -> Expected:
    if chance.random() < 0.7:
        lab.kill_supervisor()
    shutil.rmtree(lab.folder_of_state() / "runs")
    return Expected("running", ("ready", "starting"))


def _registry_cut(lab: Lab, _: Json, chance: random.Random) -> Expected:
    path = lab.home / "state.json"
    raw = path.read_bytes()
    path.write_bytes(raw[: chance.randrange(len(raw) - 1)])
    return Expected("running", ("ready",))


def _disk_full(lab: Lab, web: Json, _: random.Random) -> Expected:
    """The supervisor cannot write a byte any more: the service dies, and is still told dead."""
    supervisor = lab.supervisor()
    assert supervisor is not None
    resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, 0))
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(web["pid"]))
    refused = lab.json("up", code=None)
    assert not refused["ok"]
    assert lab.ours() == []
    os.kill(supervisor, signal.SIGKILL)
    wait_for(lambda: not is_alive(supervisor))
    return Expected("stale", ("exited", "crashed", "failed"))


def _clock_moved(lab: Lab, _: Json, chance: random.Random) -> Expected:
    far = chance.choice((-1, 1)) * 1e7
    _edit(lab, started_at=time.time() + far, ready_at=time.time() + far)
    return Expected("running", ("ready",))


def _two_ups(lab: Lab, web: Json, chance: random.Random) -> Expected:
    if chance.random() < 0.5:
        lab.json("down")
    words = ("up", "--branch", lab.branch)
    threads = [threading.Thread(target=lab.json, args=words) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = lab.web()
    assert len(lab.family(found["run_id"])) == 1
    assert len(lab.ours()) == 1
    del web
    return Expected("running", ("ready",))


def _down_races_restart(lab: Lab, web: Json, chance: random.Random) -> Expected:
    with contextlib.suppress(ProcessLookupError):
        os.kill(web["pid"], signal.SIGKILL)
    time.sleep(chance.uniform(0, 0.06))
    lab.json("down")
    assert lab.ours() == []
    time.sleep(0.15)
    assert lab.ours() == []
    return Expected("stale", ("stopped",))


def _supervisor_frozen(lab: Lab, _: Json, __: random.Random) -> Expected:
    """Reads answer although the supervisor does nothing, and the next change replaces it."""
    frozen = lab.supervisor()
    assert frozen is not None
    os.kill(frozen, signal.SIGSTOP)
    lab.cleanup(lambda: end(frozen))
    return Expected("running", ("ready",))


def _out_of_memory(lab: Lab, web: Json, _: random.Random) -> Expected:
    """The supervisor gets no more memory: what it cannot do it does not claim."""
    supervisor = lab.supervisor()
    assert supervisor is not None
    pages = int(Path(f"/proc/{supervisor}/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (1 << 16)
    resource.prlimit(supervisor, resource.RLIMIT_AS, (most, most))
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(web["pid"]))
    told = lab.json("up", "--branch", lab.branch, code=None)
    assert told["ok"] == (len(lab.ours()) == 1)
    end(supervisor)
    wait_for(lambda: not is_alive(supervisor))
    lab.json("up", "--branch", lab.branch)
    return Expected("running", ("ready",))


def _newer_state(lab: Lab, _: Json, __: random.Random) -> Expected:
    """A later version left a field and a file that this one does not know."""
    _edit(lab, a_later_field={"deep": [1]})
    path = lab.record("web", lab.branch_slug())
    (path.parent.parent / "later").mkdir()
    (path.parent.parent / "later" / "later.txt").write_text("of a later version")
    return Expected("running", ("ready",))


def _holder_killed(lab: Lab, web: Json, _: random.Random) -> Expected:
    """The process that holds the terminal of a service dies, and the service with it."""
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(lambda: lab.family(web["run_id"]) == [])
    return Expected("stale", ("crashed", "exited"))


def _file_changed(lab: Lab, web: Json, chance: random.Random) -> Expected:
    """A watched file changes again and again: one set of processes, and a new one."""
    for number in range(3):
        (lab.worktree() / "app.watched").write_text("x" * number)
        time.sleep(chance.choice((0, 0.1, 0.6)))
    wait_for(lambda: not is_alive(web["pid"]))

    def has_settled() -> bool:
        before = lab.ours()
        return len(before) == 1 and lab.web()["phase"] == "ready" and lab.ours() == before

    wait_for(has_settled)
    (lab.worktree() / "app.watched").unlink()
    lab.json("down", "--branch", lab.branch)
    lab.json("up", "--branch", lab.branch)
    return Expected("running", ("ready",))


CASES: dict[str, Case] = {
    "leader-killed": Case(_leader_killed),
    "group-killed": Case(_group_killed),
    "exits-0": Case(_exits, '[services.web]\ncommand = [SVC, "exit", "0", "0.5"]\n'),
    "exits-1": Case(_exits, '[services.web]\ncommand = [SVC, "exit", "1", "0.5"]\n'),
    "wrapper-killed": Case(_wrapper_killed, SERVE.replace('"serve"', '"wrap"')),
    "daemonised": Case(_daemonised, SERVE.replace('"serve"', '"daemon"'), waits=False),
    "zombie": Case(_zombie),
    "pid-reused": Case(_pid_reused),
    "other-boot": Case(_other_boot),
    "supervisor-killed": Case(_supervisor_killed),
    "all-killed": Case(_all_killed),
    "suspended": Case(_suspended),
    "port-stolen": Case(_port_stolen, SERVE.replace('"serve"', '"say", "hello"'), waits=False),
    "record-cut": Case(_record_cut),
    "records-deleted": Case(_records_deleted),
    "registry-cut": Case(_registry_cut),
    "disk-full": Case(_disk_full),
    "clock-moved": Case(_clock_moved),
    "two-ups": Case(_two_ups),
    "supervisor-frozen": Case(_supervisor_frozen),
    "out-of-memory": Case(_out_of_memory),
    "newer-state": Case(_newer_state),
    "holder-killed": Case(_holder_killed, SERVE + "tty = true\n"),
    "file-changed": Case(_file_changed, SERVE + 'watch = ["*.watched"]\n'),
    "down-races-restart": Case(
        _down_races_restart,
        SERVE + 'restart = { policy = "always", max = 1000, backoff = "10ms" }\n',
    ),
    **PROJECT_CASES,
    **PROGRAM_CASES,
}


def play(lab: Lab, name: str, seed: int) -> None:
    """Run one case from a clean start to a clean end, and judge every answer on the way."""
    case, chance = CASES[name], random.Random(seed)
    lab.config(case.config.replace("CANONICAL", str(free_port())))
    lab.repository()
    in_worktree = name == "worktree-deleted" or chance.random() < 0.3
    cwd = Path(lab.json("create", "side")["path"]) if in_worktree else lab.root
    lab.stand(cwd, "side" if in_worktree else "main")
    words = () if case.waits else ("--no-wait",)
    lab.sy("up", *words, "--json", cwd=cwd, code=None if not case.waits else 0)
    expected = case.harm(lab, lab.web(), chance)
    verdict(lab, expected)
    strangers, where = lab.strangers(), lab.web()
    lab.json("down")
    assert lab.ours() == [], "a process of the project is left"
    assert at_work(lab.worktree()) == set(), "a process that hides its variables is left"
    assert where["phase"] == "port_conflict" or not (where["port"] and connects(where["port"]))
    assert all(is_alive(pid) for pid in strangers), "a stranger was signalled"
    assert lab.json("status")["services"] == []


def verdict(lab: Lab, expected: Expected) -> None:
    """Every answer says the same, and it is what the process table says."""
    where = lab.web()
    assert (where["status"], where["phase"] in expected.phases) == (expected.status, True), where
    if expected.reason:
        assert where["reason"] == expected.reason, where
    truly = bool(where["pid"]) and is_alive(where["pid"])
    assert truly == (expected.status == "running"), where
    in_brief = {
        one["service"]: one for one in lab.json("brief", "--branch", lab.branch)["services"]
    }
    in_status = {
        one["service"]: one for one in lab.json("status", "--branch", lab.branch)["services"]
    }
    if expected.phases == ("stopped",):
        assert not in_brief
        assert not in_status
        return
    for told in (in_brief["web"], in_status["web"]):
        assert (told["status"], told["pid"]) == (where["status"], where["pid"])
        assert told["phase"] in expected.phases
    for one in lab.json("list")["worktrees"]:
        alive = expected.status == "running" and one["branch"] == lab.branch
        assert set(one["running"]) - {"other"} == ({"web"} if alive else set())
    if where["phase"] == "orphaned":
        leader = json.loads(lab.record("web", lab.branch_slug()).read_text())["pid"]

        def agrees() -> bool:
            # Two looks at a program that may still start its workers, or end them.
            ours = {*lab.family(where["run_id"]), *_of_session(leader), *at_work(lab.worktree())}
            return sorted(lab.web()["pids"]) == sorted(ours)

        wait_for(agrees)
    if where["phase"] == "port_conflict":
        assert where["port_owner"]["pid"] == os.getpid()


def _of_session(number: int) -> list[int]:
    """Who lives in the session that this process began, as the kernel says."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = int(entry.name)
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == number and is_alive(pid):
                found.append(pid)
    return found
