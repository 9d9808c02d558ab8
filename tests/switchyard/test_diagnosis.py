"""A start that fails says why, with the line to write; odd files and hung helpers are got round."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, is_alive, wait_for

from support.measuring import unmeasured

V6 = (
    "import socket, os; s = socket.create_server(('::1', int(os.environ['PORT'])), "
    "family=socket.AF_INET6); s.accept()"
)
OWN = "import socket; s = socket.create_server(('127.0.0.1', {0})); s.accept()"
SHORT = 'ready = {{ timeout = "700ms" }}\n'.replace("{{", "{").replace("}}", "}")


def python(code: str) -> str:
    return json.dumps([sys.executable, "-S", "-E", "-c", code])


def cause(lab: Lab, code: int = 3) -> str:
    return lab.json("up", code=code)["error"]["message"]


def test_a_service_on_ipv6_alone_is_told_what_to_write(lab: Lab) -> None:
    lab.config(f"[services.web]\ncommand = {python(V6)}\nport = 0\n{SHORT}")
    message = cause(lab)
    port = lab.service("web")["port"]
    assert f'it listens on [::1]:{port} only; add `host = "::1"`' in message


def test_a_service_on_a_port_of_its_own_is_told_which(lab: Lab) -> None:
    own = free_port()
    lab.config(f"[services.web]\ncommand = {python(OWN.format(own))}\nport = 0\n{SHORT}")
    message = cause(lab)
    assert f"it listens on {own} instead of {lab.service('web')['port']}" in message
    assert "{port}" in message


def test_a_service_that_listens_nowhere_is_told(lab: Lab) -> None:
    lab.config(f'[services.web]\ncommand = ["sleep", "100"]\nport = 0\n{SHORT}')
    assert "listens on no port" in cause(lab)


def test_a_service_that_becomes_a_daemon_is_told(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = [SVC, "daemon"]\nport = 0\n')
    message = cause(lab, 1)
    [pid] = lab.service("web")["pids"]
    assert f"it became a daemon: process {pid} goes on" in message


PLAIN_DICT = "print('os.getenv'); {}['SHOP_KEY']"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (python("import os; os.environ['SHOP_KEY']"), "the variable SHOP_KEY, which it does not"),
        (python("import os; os.environ['PORT']"), "the variable PORT, which a service with a port"),
        ('["sh", "-uc", "echo $SHOP_KEY"]', "the variable SHOP_KEY, which it does not have"),
        (
            """["sh", "-c", "echo 'environment variable `SHOP_KEY` is not set'; exit 1"]""",
            "the variable SHOP_KEY, which it does not have",
        ),
        ('["sh", "-c", "no-such-program --serve"]', "`no-such-program`, which is not there"),
        ('["sh", "-c", "echo environment variable OLD is deprecated; exit 1"]', None),
        (python(PLAIN_DICT), None),
    ],
)
def test_a_crash_that_explains_itself_is_told_with_what_to_write(
    lab: Lab, command: str, told: str | None
) -> None:
    lab.config(f"[services.app]\ncommand = {command}\n")
    error = lab.json("up", code=1)["error"]
    if told is None:
        assert error["details"]["cause"] is None
    else:
        assert told in error["message"]
        assert told in error["details"]["cause"]


def test_a_crash_on_the_port_of_another_names_its_holder(lab: Lab) -> None:
    taken = free_port()
    lab.listener(taken)
    said = f"Error: listen EADDRINUSE: address already in use 127.0.0.1:{taken}"
    lab.config(f"""[services.app]\ncommand = ["sh", "-c", "echo '{said}'; exit 1"]\nport = 0\n""")
    message = cause(lab, 1)
    assert f"it wants the port {taken}, which process {os.getpid()} (" in message
    assert "pass `{port}` in its command" in message


def test_a_stranger_on_the_port_is_named(lab: Lab) -> None:
    lab.config(f'[services.web]\ncommand = [SVC, "late", "0.5"]\nport = 0\n{SHORT}')
    lab.sy("up", "--no-wait")
    port = lab.service("web")["port"]
    lab.json("down")
    code = f"import socket; s = socket.create_server(('127.0.0.1', {port})); input()"
    lab.config(
        f'[services.web]\ncommand = ["sleep", "100"]\nport = {port}\nbind_canonical = true\n'
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as stranger:
        wait_for(lambda: connects(port))
        assert "another process is using it" in cause(lab, 4)
        stranger.kill()


SHAPES = (
    "[]",
    "5",
    "null",
    '"text"',
    "{}",
    "{",
    "\xff",
    '{"projects": []}',
    '{"projects": {"/x": 5}}',
    '{"projects": {"/x": {"name": 1, "folder": [], "worktrees": []}}}',
    '{"version": "new"}',
    '{"project_aliases": 7}',
    '{"ports": []}',
    '{"ports": {"a": 1}}',
    '{"checkouts": 5}',
    '{"checkouts": [{"port": "x"}]}',
    '{"command": 5}',
    '{"pid": "many"}',
)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_a_file_gives_a_traceback(lab: Lab, shape: str) -> None:
    lab.config('[services.web]\ncommand = ["sleep", "100"]\n')
    lab.json("up")
    state = lab.folder_of_state()
    for path in (
        lab.home / "state.json",
        lab.home / "ports.json",
        lab.record("web"),
        state / "checkouts.json",
        state / "project.json",
    ):
        path.write_text(shape, "latin-1")
        done = lab.sy("status", "--json", code=None)
        assert "Traceback" not in done.err, (path.name, done.err)
        assert isinstance(done.json["ok"], bool)
    for verb in ("brief", "ps", "down"):
        done = lab.sy(verb, "--json", code=None)
        assert "Traceback" not in done.err, (verb, done.err)
        assert isinstance(done.json["ok"], bool)


def test_a_record_of_odd_fields_is_a_broken_one(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = ["sleep", "100"]\n')
    lab.json("up")
    pid = lab.service("web")["pid"]
    good = json.loads(lab.record("web").read_text())
    for field, value in (
        ("pid", str(pid)),
        ("command", 5),
        ("port", "x"),
        ("kin", [1]),
        ("log", 1),
    ):
        lab.record("web").write_text(json.dumps({**good, field: value}))
        told = lab.service("web")
        assert (told["pid"], told["status"]) == (pid, "running"), field


def test_a_hung_supervisor_is_replaced_and_nothing_is_done_twice(lab: Lab) -> None:
    lab.env = unmeasured(lab.env)
    lab.config(
        '[services.web]\ncommand = ["sleep", "100"]\n[services.two]\ncommand = ["sleep", "9"]\n'
    )
    lab.json("up", "web")
    web = lab.service("web")["pid"]
    hung = lab.supervisor()
    assert hung is not None
    os.kill(hung, signal.SIGSTOP)
    lab.cleanup(lambda: is_alive(hung) and os.kill(hung, signal.SIGKILL))
    problems = lab.json("doctor", code=1)["problems"]
    assert any("has not answered" in one for one in problems)
    made = lab.json("up")
    assert made["already_running"] == ["web"]
    assert lab.service("web")["pid"] == web
    assert not is_alive(hung)
    assert lab.supervisor() not in (None, hung)
    lab.json("down")
    assert lab.ours() == []


def test_two_services_with_one_canonical_port_are_not_both_checked_out(lab: Lab) -> None:
    port = free_port()
    lab.config(
        f'[services.one]\ncommand = [SVC, "serve"]\nport = {port}\n'
        f'[services.two]\ncommand = [SVC, "serve"]\nport = {port}\n'
    )
    lab.json("up")
    error = lab.json("checkout", code=4)["error"]
    assert error["code"] == "port-wanted-twice"
    assert not connects(port)
    assert any(f"share the canonical port {port}" in one for one in lab.json("doctor")["notes"])
    lab.json("checkout", "default", "two")
    assert connects(port)


def test_a_log_is_followed_that_is_not_there_yet(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = [SVC, "say", "hello"]\n')
    with subprocess.Popen(
        [sys.executable, "-m", "switchyard", "logs", "-f", "web"],
        cwd=lab.root,
        env=lab.env,
        stdout=subprocess.PIPE,
    ) as following:
        lab.json("up")
        assert following.stdout
        assert following.stdout.readline() == b"hello\n"
        following.kill()


def test_the_log_of_a_removed_service_is_shown_only_by_name(lab: Lab) -> None:
    lab.config(
        '[services.web]\ncommand = [SVC, "say", "a"]\n[services.old]\ncommand = [SVC, "say", "b"]\n'
    )
    lab.json("up")
    lab.json("down")
    lab.config('[services.web]\ncommand = [SVC, "say", "a"]\n')
    assert [one["service"] for one in lab.json("logs")["logs"]] == ["web"]


def test_authors_are_no_secret(lab: Lab) -> None:
    lab.config(
        '[services.web]\ncommand = ["sleep", "9"]\nenv = { GIT_AUTHOR_NAME = "me", AUTH_X = "s" }\n'
    )
    shown = lab.json("env", "web")["env"]
    assert (shown["GIT_AUTHOR_NAME"], shown["AUTH_X"]) == ("me", "[redacted]")


def test_what_has_ended_has_no_address(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    web = lab.json("up")["services"][0]
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(web["pid"]))
    told = lab.service("web")
    assert (told["port"], told["url"], told["direct_url"]) == (None, None, None)


def test_a_fast_log_stays_near_its_limit(lab: Lab) -> None:
    lab.env = unmeasured(lab.env)
    loop = "import sys\nwhile True: sys.stdout.write('x' * 99 + chr(10))"
    pace = "import time\n" + loop.replace("sys.stdout", "time.sleep(0.0002) or sys.stdout")
    lab.config(f'[logs]\nmax_size = "200KB"\nkeep = 1\n[services.web]\ncommand = {python(pace)}\n')
    lab.json("up")
    log = Path(lab.service("web")["log_path"])
    wait_for(lambda: log.stat().st_size > 2_500_000, 40)
    assert log.stat().st_blocks * 512 < 1_600_000
