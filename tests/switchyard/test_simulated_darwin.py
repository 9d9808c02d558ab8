"""Switchyard end to end where Linux lacks what macOS lacks, over a double of its kernel."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, get, is_alive, wait_for

from support.simulation import as_darwin
from switchkit.platform.promises import PROMISES

# A web server, and a first process whose descendant has a session of its own. Both of these heed
# nothing, and start others all the time, so that some are born while their parents are killed.
PROJECT = '''
[services.web]
command = [SVC, "serve"]
port = 0

[services.deaf]
command = ["sh", "-c", """
trap '' TERM
setsid sh -c 'trap "" TERM; while :; do sleep 0.01; done' &
while :; do sleep 0.01; done
"""]
stop = { grace = "200ms" }

[hooks]
pre_up = [["true"]]
'''


@pytest.fixture
def mac(lab: Lab) -> Lab:
    lab.env = as_darwin(lab.env, lab.folder)
    return lab


def test_the_simulation_lacks_what_macos_lacks(mac: Lab) -> None:
    script = (
        "import os, socket, sys\n"
        "from switchkit.platform import processes\n"
        "print(processes.vitals.__module__, os.path.exists('/proc'), hasattr(os, 'pidfd_open'),\n"
        "      hasattr(socket, 'AF_NETLINK'))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], env=mac.env, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["switchkit.platform.darwin.processes", "False", "False", "False"]


def test_services_start_are_told_of_and_end_whole(mac: Lab) -> None:
    mac.config(PROJECT)
    mac.json("up")
    rows = {one["service"]: one for one in mac.json("status")["services"]}
    assert {one["status"] for one in rows.values()} == {"running"}
    assert rows["web"]["phase"] == "ready"
    assert connects(rows["web"]["port"])
    started = mac.ours()
    assert len(started) >= 3
    mac.json("down")
    assert [pid for pid in started if is_alive(pid)] == []
    assert mac.ours() == []
    assert not connects(rows["web"]["port"])


def test_a_service_that_was_killed_is_told_as_crashed(mac: Lab) -> None:
    mac.config(PROJECT)
    mac.json("up", "web")
    pid = mac.service("web")["pid"]
    os.kill(pid, 9)
    wait_for(lambda: mac.service("web")["phase"] == "crashed")
    mac.json("down")
    assert mac.ours() == []


def test_a_supervisor_that_was_killed_finds_its_services_again(mac: Lab) -> None:
    mac.config(PROJECT)
    mac.json("up")
    before = mac.service("web")["pid"]
    mac.kill_supervisor()
    assert is_alive(before)
    mac.json("up")
    assert mac.service("web")["pid"] == before
    mac.json("down")
    assert mac.ours() == []


def test_a_taken_port_is_told_with_its_holder(mac: Lab) -> None:
    mac.config(PROJECT)
    mac.json("up", "web")
    port = mac.service("web")["port"]
    mac.json("down")
    mac.listener(port)
    mac.json("up", "web")
    assert mac.service("web")["port"] != port
    mac.json("down")


def test_worktrees_and_checkouts(mac: Lab) -> None:
    port = free_port()
    mac.config(f'[services.web]\ncommand = [SVC, "serve"]\nport = {port}\n')
    mac.repository()
    mac.json("create", "side")
    mac.json("up")
    mac.json("up", "side")
    mac.json("checkout", "side")
    assert get(port) == "side web"
    assert mac.json("brief")["checkouts"][0]["active"]
    mac.json("uncheckout")
    assert not connects(port)
    mac.json("rm", "side")
    mac.json("down")
    assert mac.ours() == []


def test_one_project_has_one_supervisor_whatever_the_spelling(lab: Lab) -> None:
    lab.env = as_darwin(lab.env, lab.folder, folding=lab.folder)
    lab.config(PROJECT)
    lab.json("up", "web")
    supervisor, port = lab.supervisor(), lab.service("web")["port"]
    other = str(lab.root.with_name("SHOP"))
    told = lab.json("status", "--cwd", other)["services"]
    assert {one["service"]: one["port"] for one in told if one["port"]} == {"web": port}
    assert lab.json("doctor", "--cwd", other)["root"] == str(lab.root)
    lab.json("up", "web", "--cwd", other)
    assert lab.service("web")["port"] == port
    assert lab.supervisor() == supervisor
    lab.json("down", "--cwd", other)
    assert lab.ours() == []


def test_a_log_stays_bounded_on_a_disk_without_holes(mac: Lab) -> None:
    """The double refuses to make any, as a disk of another kind than APFS."""
    code = (
        "import sys, time\nn = 0\nwhile True:\n    n += 1\n    time.sleep(0.0002)\n"
        "    print(f'{n:09d}', 'x' * 89, flush=True)"
    )
    command = json.dumps([sys.executable, "-S", "-E", "-c", code])
    mac.config(f'[logs]\nmax_size = "200KB"\nkeep = 1\n[services.web]\ncommand = {command}\n')
    mac.json("up")
    log = Path(mac.service("web")["log_path"])
    older = log.with_name(f"{log.name}.1")

    def ends() -> set[int]:
        with contextlib.suppress(OSError):
            seen.add(older.stat().st_ino)
        return seen

    # Each time that it begins anew its end is moved aside.
    seen = set[int]()
    wait_for(lambda: len(ends()) > 2, 40)
    assert log.stat().st_size < 1_600_000
    assert older.stat().st_size <= 400_000
    mac.json("down")
    numbers = [int(line.split()[0]) for line in older.read_bytes().splitlines()[1:-1]]
    assert numbers == [*range(numbers[0], numbers[0] + len(numbers))]
    later = [int(line.split()[0]) for line in log.read_bytes().splitlines()[1:]]
    assert all(one < two for one, two in itertools.pairwise(later))
    assert later[0] > numbers[-1]
    shown = mac.json("logs", "web", "--lines", "5")["logs"][0]["lines"]
    assert str(later[-1]) in shown[-1]


def test_status_and_doctor_say_what_is_promised_here(mac: Lab) -> None:
    mac.config(PROJECT)
    wanted = {each.what: each.macos for each in PROMISES}
    for verb in ("status", "doctor"):
        shown = mac.json(verb)["promises"]
        assert {each["what"]: each["standing"] for each in shown} == wanted
    assert "weaker    A signal reaches exactly" in mac.sy("doctor").out


def test_names_that_the_resolver_does_not_know_are_told_with_the_version_that_does(
    mac: Lab,
) -> None:
    mac.config('tld = "nowhere.invalid"\n' + PROJECT)
    (note,) = (each for each in mac.json("doctor")["notes"] if "does not resolve" in each)
    assert "macOS knows `*.localhost` from version 26 on" in note
    assert "apt install" not in note
