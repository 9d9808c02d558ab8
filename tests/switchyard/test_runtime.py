"""Starting, asking and stopping: judged from the process table and the wire."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, get, is_alive, wait_for

from support.requirements import requirement

THREE = """
[services.db]
command = [SVC, "serve"]
port = 0
protocol = "tcp"
[services.api]
command = [SVC, "serve"]
port = 0
depends_on = ["db"]
[services.web]
command = [SVC, "serve"]
port = 0
depends_on = { api = "ready" }
env = { API = "{api_url}" }
"""


@requirement("S1.46", "S1.48", "S1.50", "S1.53")
def test_services_come_up_in_order_and_go_down_whole(lab: Lab) -> None:
    lab.config(THREE)
    made = lab.json("up")
    assert [one["service"] for one in made["services"]] == ["db", "api", "web"]
    assert made["started"] == ["db", "api", "web"]
    began = {one["service"]: one["started_at"] for one in made["services"]}
    ready = {one["service"]: one["ready_at"] for one in made["services"]}
    assert ready["db"] <= began["api"]
    assert ready["api"] <= began["web"]
    for one in lab.json("status")["services"]:
        assert (one["status"], one["phase"]) == ("running", "ready")
        assert is_alive(one["pid"])
        assert connects(one["port"])
    where = lab.service("web")
    assert get(where["port"]) == "default web"
    assert where["worktree"] == str(lab.root)
    assert "listening on" in Path(where["log_path"]).read_text()
    stopped = lab.json("down")["stopped"]
    assert [one["service"] for one in stopped] == ["web", "api", "db"]
    assert lab.ours() == []
    assert all(not connects(one["port"]) for one in made["services"])
    assert lab.json("status")["services"] == []


def test_up_again_changes_nothing(lab: Lab) -> None:
    lab.config(THREE)
    first = {one["service"]: one["pid"] for one in lab.json("up")["services"]}
    again = lab.json("up")
    assert {one["service"]: one["pid"] for one in again["services"]} == first
    assert again["started"] == []


@requirement("S1.69")
def test_only_configured_commands_are_started(lab: Lab) -> None:
    lab.config(THREE)
    refused = lab.json("up", "rm", code=2)
    assert refused["error"]["code"] == "unknown-branch"
    refused = lab.json("up", "--branch", "default", "dbb", code=2)
    assert refused["error"]["code"] == "unknown-service"
    assert lab.ours() == []
    wait_for(lambda: lab.supervisor() is None)


def test_a_service_that_exits_at_once_is_never_called_started(lab: Lab) -> None:
    lab.config('[services.bad]\ncommand = [SVC, "exit", "7"]\n')
    failed = lab.json("up", code=1)
    error = failed["error"]
    assert error["code"] == "service-failed"
    assert any("ValueError: broken" in line for line in error["details"]["log_tail"])
    where = lab.service("bad")
    assert (where["status"], where["phase"], where["exit_code"]) == ("stale", "crashed", 7)
    assert where["log_path"]


def test_a_command_that_is_not_there_is_told(lab: Lab) -> None:
    lab.config('[services.bad]\ncommand = ["no-such-program-here"]\n')
    error = lab.json("up", code=1)["error"]
    assert error["code"] == "service-failed"
    assert "no-such-program-here" in error["message"]
    assert lab.service("bad")["phase"] == "failed"


def test_what_waits_for_something_broken_is_not_started(lab: Lab) -> None:
    lab.config(
        '[services.bad]\ncommand = [SVC, "exit", "1"]\nport = 0\n'
        '[services.web]\ncommand = [SVC, "serve"]\nport = 0\ndepends_on = ["bad"]\n'
    )
    assert lab.json("up", code=1)["error"]["details"]["service"] == "bad"
    assert lab.service("web")["status"] == "stale"
    assert lab.ours() == []


def test_not_ready_in_time_has_an_exit_code_of_its_own(lab: Lab) -> None:
    lab.config(
        '[services.slow]\ncommand = [SVC, "late", "30"]\nport = 0\nready = { timeout = "200ms" }\n'
    )
    assert lab.json("up", code=3)["error"]["code"] == "not-ready"
    assert lab.service("slow")["status"] == "running"
    assert lab.service("slow")["phase"] == "starting"


@pytest.mark.parametrize(
    "ready",
    [
        "tcp = true",
        'http = "/"',
        'log = "listening on \\\\d+"',
        'command = ["true"]',
        'delay = "50ms"',
    ],
)
def test_every_kind_of_readiness(lab: Lab, ready: str) -> None:
    lab.config(f'[services.web]\ncommand = [SVC, "serve"]\nport = 0\nready = {{ {ready} }}\n')
    assert lab.json("up")["services"][0]["phase"] == "ready"


def test_an_answer_of_the_wrong_kind_is_not_ready(lab: Lab) -> None:
    lab.config(
        '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'
        'ready = { http = "/sick", timeout = "300ms" }\n'
    )
    lab.json("up", code=3)


def test_a_task_is_done_before_what_needs_it(lab: Lab) -> None:
    lab.config(
        '[services.migrate]\nkind = "task"\n'
        'command = ["sh", "-c", "sleep 0.2; touch {root}/migrated"]\n'
        '[services.api]\ncommand = ["sh", "-c", "test -e {root}/migrated && exec sleep 100"]\n'
        'depends_on = { migrate = "completed" }\n'
    )
    made = {one["service"]: one for one in lab.json("up")["services"]}
    assert (made["migrate"]["phase"], made["migrate"]["exit_code"]) == ("completed", 0)
    assert made["api"]["status"] == "running"


def test_a_failed_task_stops_what_needs_it(lab: Lab) -> None:
    lab.config(
        '[services.migrate]\nkind = "task"\ncommand = ["false"]\n'
        '[services.api]\ncommand = ["sleep", "100"]\ndepends_on = { migrate = "completed" }\n'
    )
    assert lab.json("up", code=1)["error"]["details"]["service"] == "migrate"
    assert lab.ours() == []


def test_a_crash_is_restarted_when_asked_for(lab: Lab) -> None:
    lab.config(
        '[services.web]\ncommand = [SVC, "once", "{root}/mark"]\nport = 0\n'
        'restart = { policy = "on-failure", backoff = "10ms" }\n'
    )
    lab.sy("up", "--timeout", "15s", code=None)
    wait_for(lambda: lab.service("web")["phase"] == "ready")
    pid = lab.service("web")["pid"]
    os.kill(pid, 9)
    again = wait_for(lambda: (found := lab.service("web"))["phase"] == "ready" and found)
    assert again["pid"] != pid
    assert again["restarts"] == 2


def test_up_waits_for_what_its_restart_rule_still_brings_up(lab: Lab) -> None:
    services = "".join(
        f'[services.web{number}]\ncommand = [SVC, "thrice", "{lab.folder}/{number}"]\nport = 0\n'
        'restart = { policy = "on-failure", max = 5, backoff = "10ms" }\n'
        f'[services.api{number}]\ncommand = [SVC, "serve"]\nport = 0\n'
        f'depends_on = ["web{number}"]\n'
        for number in range(6)
    )
    lab.config(services)
    up = lab.json("up")
    assert {one["phase"] for one in up["services"]} == {"ready"}
    assert [one["restarts"] for one in up["services"] if one["service"] == "web0"] == [2]


def test_without_a_rule_a_crash_stays_visible(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    pid = lab.json("up")["services"][0]["pid"]
    os.kill(pid, 9)
    found = wait_for(lambda: (one := lab.service("web"))["status"] == "stale" and one)
    assert found["phase"] in ("crashed", "exited")
    found = wait_for(lambda: (one := lab.service("web"))["phase"] == "crashed" and one)
    assert found["reason"] == "signal-SIGKILL"


def test_a_failing_live_check_restarts(lab: Lab) -> None:
    lab.config(
        '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'
        'live = { http = "/sick", interval = "50ms", failures = 2 }\n'
        'restart = { policy = "on-failure", max = 1, backoff = "10ms" }\n'
    )
    first = lab.json("up")["services"][0]["pid"]
    wait_for(lambda: not is_alive(first))


def test_one_stubborn_service_costs_its_grace_once(lab: Lab) -> None:
    lab.config(
        "".join(
            f'[services.s{n}]\ncommand = [SVC, "stubborn"]\nport = 0\nstop = {{ grace = "1s" }}\n'
            for n in range(4)
        )
    )
    lab.json("up")
    began = time.monotonic()
    stopped = lab.json("down")["stopped"]
    took = time.monotonic() - began
    assert all(one["forced"] and one["port_free"] for one in stopped)
    assert 1.0 <= took < 3.5
    assert lab.ours() == []


def test_a_branch_that_is_slow_to_stop_keeps_no_other_waiting(lab: Lab) -> None:
    """Its service ignores the signal, and its hook waits for the other branch to be up."""
    mark = lab.folder / "mark"
    lab.config(
        '[services.web]\ncommand = [SVC, "stubborn"]\nport = 0\nstop = { grace = "60s" }\n'
        f'[hooks]\npre_down = [["sh", "-c", "touch {mark}.begun; until test -e {mark}; do '
        'sleep 0.05; done"]]\n'
    )
    lab.repository()
    lab.json("create", "side")
    lab.json("up")
    stopping = subprocess.Popen(
        [sys.executable, "-m", "switchyard", "down", "main"],
        cwd=lab.root,
        env=lab.env,
        stdout=subprocess.DEVNULL,
    )
    wait_for(lambda: mark.with_suffix(".begun").exists())
    stubborn = lab.service("web", "main")["pid"]
    assert lab.json("up", "side")["services"][0]["phase"] == "ready"
    mark.touch()
    lab.json("checkout", "side", code=4)
    os.kill(lab.service("web", "side")["pid"], 9)
    assert len(lab.json("down", "side")["stopped"]) == 1
    assert stopping.poll() is None
    os.kill(stubborn, 9)
    assert stopping.wait(20) == 0


def test_ports_are_kept_for_the_next_time(lab: Lab) -> None:
    lab.config(THREE)
    first = {one["service"]: one["port"] for one in lab.json("up")["services"]}
    assert all(20000 <= port <= 24999 for port in first.values())
    lab.json("down")
    assert {one["service"]: one["port"] for one in lab.json("up")["services"]} == first


def test_a_stranger_on_the_kept_port_is_left_alone(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    port = lab.json("up")["services"][0]["port"]
    lab.json("down")
    with socket.create_server(("127.0.0.1", port)):
        other = lab.json("up")["services"][0]["port"]
        assert other != port
        assert get(other) == "default web"


def test_profiles_choose_and_override(lab: Lab) -> None:
    lab.config(
        '[services.a]\ncommand = ["sh", "-c", "echo value $V; sleep 100"]\n'
        'env = { V = "service" }\n'
        'ready = { log = "value" }\n[services.b]\ncommand = ["sleep", "100"]\n'
        '[profiles.p]\nservices = ["a"]\nenv = { V = "profile" }\n'
    )
    made = lab.json("up", "--profile", "p")
    assert [one["service"] for one in made["services"]] == ["a"]
    assert lab.json("logs", "a")["logs"][0]["lines"] == ["value profile"]


def test_services_get_the_documented_variables(lab: Lab) -> None:
    lab.config(THREE)
    (lab.root / ".env").write_text('FROM_FILE="yes"\n# no\nOTHER=1 # two\n')
    lab.config(THREE.replace("env = { API", 'env_file = ".env"\nenv = { API'))
    lab.json("up")
    found = lab.json("env", "web")["env"]
    port = str(lab.service("web")["port"])
    assert (found["PORT"], found["HOST"], found["SWITCHYARD"]) == (port, "127.0.0.1", "1")
    assert (found["SWITCHYARD_SERVICE"], found["SWITCHYARD_BRANCH"]) == ("web", "default")
    api = lab.service("api")
    assert api["url"] == f"http://api.default.shop.localhost:{lab.proxy_port}"
    assert found["API"] == found["SWITCHYARD_API_URL"]
    assert found["API"] in (api["url"], api["direct_url"])
    assert found["SWITCHYARD_API_PORT"] == str(lab.service("api")["port"])
    assert (found["FROM_FILE"], found["OTHER"]) == ("yes", "1")


def test_secrets_are_not_shown(lab: Lab) -> None:
    lab.config(
        '[services.a]\ncommand = ["sh", "-c", "echo token=hunter2; sleep 9"]\n'
        'ready = { log = "token" }\n'
        'env = { API_TOKEN = "hunter2", URL = "postgres://u:hunter2@h/d" }\n'
        '[logs]\nredact = ["token=\\\\S+"]\n'
    )
    lab.json("up")
    assert "hunter2" not in lab.sy("env", "a").out
    assert "hunter2" not in lab.sy("logs", "a").out
    assert "hunter2" in lab.sy("env", "a", "--reveal").out


def test_a_name_leads_to_its_service(lab: Lab) -> None:
    lab.config(THREE)
    where = lab.json("up")["services"][1]
    assert where["url"] == f"http://api.default.shop.localhost:{lab.proxy_port}"
    name = where["url"].removeprefix("http://")
    assert get(lab.proxy_port, name=name) == "default api"
    assert get(lab.proxy_port, name=name, host="::1") == "default api"
    assert "nothing runs" in get(lab.proxy_port, name="x.default.shop.localhost")
    assert str(lab.home) in get(lab.proxy_port, "/__switchyard/health")


@pytest.mark.parametrize("tld", ["localhost", "nowhere.invalid"])
def test_services_are_given_addresses_that_programs_can_resolve(lab: Lab, tld: str) -> None:
    path = lab.config(
        '[services.api]\ncommand = [SVC, "serve"]\nport = 0\n'
        '[services.web]\ncommand = [SVC, "serve"]\nport = 0\nenv = { API = "{api_url}" }\n'
    )
    path.write_text(path.read_text().replace("[proxy]\n", f'[proxy]\ntld = "{tld}"\n'))
    try:
        resolves = bool(socket.getaddrinfo(f"some.{tld}", None))
    except OSError:
        resolves = False
    api = {one["service"]: one for one in lab.json("up")["services"]}["api"]
    assert api["url"].startswith(f"http://api.default.shop.{tld}:")
    given = lab.json("env", "web")["env"]
    expected = api["url"] if resolves else api["direct_url"]
    assert (given["API"], given["SWITCHYARD_API_URL"]) == (expected, expected)
    assert lab.json("brief").get("names_resolve", True) is resolves
    doctor = lab.json("doctor")
    assert doctor["proxy"]["names_resolve"] is resolves
    assert any("does not resolve" in one for one in doctor["notes"]) is not resolves
    lab.json("down")
    assert lab.json("env", "web")["env"]["API"] == expected


def test_names_are_not_taken_from_somebody_else(lab: Lab) -> None:
    lab.config(THREE)
    with socket.create_server(("127.0.0.1", lab.proxy_port)):
        made = lab.json("up")
        assert "names are not served" in made["warnings"][0]
        api = made["services"][1]
        assert get(api["port"]) == "default api"
        assert api["url"] == api["direct_url"] == f"http://127.0.0.1:{api['port']}"
        assert lab.json("env", "web")["env"]["API"] == api["direct_url"]


def test_hooks_run_and_may_refuse(lab: Lab) -> None:
    lab.config(
        '[services.a]\ncommand = ["sleep", "100"]\n'
        '[hooks]\npre_up = [["sh", "-c", "echo no; exit 3"]]\n'
    )
    error = lab.json("up", code=1)["error"]
    assert (error["code"], error["details"]["output"]) == ("hook-failed", ["no"])
    assert lab.ours() == []


def test_one_service_of_the_project_is_shared(lab: Lab) -> None:
    lab.config(
        '[services.db]\ncommand = [SVC, "serve"]\nport = 0\nscope = "project"\n'
        '[services.api]\ncommand = [SVC, "serve"]\nport = 0\ndepends_on = ["db"]\n'
    )
    lab.repository()
    lab.json("create", "two")
    first = {one["service"]: one["pid"] for one in lab.json("up")["services"]}
    second = {one["service"]: one["pid"] for one in lab.json("up", "two")["services"]}
    assert first["db"] == second["db"]
    assert first["api"] != second["api"]


def test_a_canonical_port_that_a_service_binds_itself_is_checked(lab: Lab) -> None:
    port = free_port()
    lab.config(f'[services.a]\ncommand = [SVC, "serve"]\nport = {port}\nbind_canonical = true\n')
    with socket.create_server(("127.0.0.1", port)):
        assert lab.json("up", code=4)["error"]["code"] == "port-taken"
    assert lab.json("up")["services"][0]["port"] == port
    assert get(port) == "default a"
