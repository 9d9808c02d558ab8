"""What a client and a supervisor say to each other: as before, and checked on both sides."""

import contextlib
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from yardlab import Lab, is_alive, wait_for

from switchyard.control.protocol import (
    CheckoutRequest,
    DownRequest,
    PhaseEvent,
    Request,
    UncheckoutRequest,
    UpAnswer,
    UpRequest,
    decode_answer,
    decode_message,
    decode_request,
    encode_request,
)
from switchyard.core.fault import YardFault
from switchyard.project.home import Home, ProjectPlaces
from switchyard.project.registry import Registry

SERVE = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'
# As version 0.1.0 sent them.
BEFORE: list[tuple[dict[str, Any], Request]] = [
    (
        {
            "operation": "up",
            "branch": "side",
            "services": ["web"],
            "profile": None,
            "wait": False,
            "timeout_s": 2,
            "env": {"A": "1"},
        },
        UpRequest("side", ("web",), None, wait=False, timeout_s=2.0, env={"A": "1"}),
    ),
    ({"operation": "down", "branch": None, "services": []}, DownRequest()),
    ({"operation": "checkout", "branch": "a", "services": []}, CheckoutRequest("a")),
    ({"operation": "uncheckout", "branch": "a", "services": ["w"]}, UncheckoutRequest("a", ("w",))),
]
# A supervisor of version 0.1.0 whose files an upgrade has replaced.
OUTDATED = """
import fcntl, json, os, signal, socket, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
listener.listen()
told = "ModuleNotFoundError: No module named 'switchyard.supervisor.downs'"
line = json.dumps({"error": {"code": "unexpected", "message": told}}) + chr(10)
while True:
    connection, _ = listener.accept()
    if connection.recv(65536):
        connection.sendall(line.encode())
    connection.close()
"""


@pytest.mark.parametrize(
    ("message", "request_"), BEFORE, ids=[str(one[0]["operation"]) for one in BEFORE]
)
def test_requests_are_written_and_read_as_before(
    message: dict[str, Any], request_: Request
) -> None:
    assert decode_request(json.dumps(message).encode()) == request_
    assert json.loads(encode_request(request_)) == message


def test_a_request_of_a_later_version_may_say_more() -> None:
    assert decode_request(b'{"operation": "down", "softly": true}') == DownRequest()


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"[]", "not a valid request"),
        (b'{"operation": "fly"}', "fly"),
        (b'{"operation": "up", "services": "web"}', "`services` must be a list"),
        (b'{"operation": "up", "services": ["web", 1]}', "`services[1]` must be a string"),
        (b'{"operation": "up", "wait": 1}', "`wait` must be true or false"),
        (b'{"operation": "up", "timeout_s": true}', "`timeout_s` must be a number"),
        (b'{"operation": "up", "env": {"A": null}}', "`env.A` must be a string"),
        (b'{"operation": "down", "branch": 1}', "`branch` must be a string"),
    ],
)
def test_a_wrong_request_is_refused_with_its_place(raw: bytes, told: str) -> None:
    with pytest.raises(YardFault) as caught:
        decode_request(raw)
    assert caught.value.code == "bad-request"
    assert told in caught.value.message


def test_a_wrong_answer_is_refused_with_its_place() -> None:
    with pytest.raises(YardFault) as caught:
        decode_answer(UpAnswer, {"branch": "a", "services": [], "started": [], "warnings": []})
    assert caught.value.code == "bad-answer"
    assert "`already_running` is missing" in caught.value.message
    rows = [{"service": "web", "status": "up", "phase": "ready", "reason": None}]
    good: dict[str, Any] = {"branch": "a", "started": [], "already_running": [], "warnings": []}
    with pytest.raises(YardFault, match=r"services\[0\].status"):
        decode_answer(UpAnswer, {**good, "services": rows})
    rows[0]["status"] = "running"
    assert decode_answer(UpAnswer, {**good, "services": rows})["services"] == rows


def test_an_event_that_is_not_known_is_passed_over() -> None:
    phase: PhaseEvent = {"event": "phase", "service": "web", "phase": "ready", "waits_for": []}
    assert decode_message(json.dumps(phase).encode()) == (None, phase)
    assert decode_message(b'{"event": "warmed-up"}') == (None, None)


def test_a_supervisor_answers_nonsense_and_goes_on(lab: Lab) -> None:
    lab.config(SERVE)
    lab.json("up")
    pid = lab.supervisor()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(places_of(lab).socket))
        client.sendall(b'{"operation": "down", "services": {"web": 1}}\n')
        answer = json.loads(client.makefile("rb").readline())
    assert answer["error"]["code"] == "bad-request"
    assert lab.service("web")["phase"] == "ready"
    assert lab.supervisor() == pid


def test_a_mistake_in_the_file_starts_no_supervisor(lab: Lab) -> None:
    lab.config(SERVE.replace("command", "comand"))
    for verb in ("up", "checkout"):
        assert "comand" in lab.json(verb, code=2)["error"]["message"]
    assert not lab.home.exists() or not list(lab.home.glob("projects/*/supervisor.*"))


def test_a_mistake_that_came_after_the_last_supervisor_starts_no_other(lab: Lab) -> None:
    lab.config(SERVE)
    lab.json("up")
    lab.json("down")
    wait_for(lambda: lab.supervisor() is None)
    log = places_of(lab).supervisor_log.stat()
    lab.config(SERVE.replace("command", "comand"))
    assert "comand" in lab.json("up", code=2)["error"]["message"]
    assert lab.supervisor() is None
    assert not places_of(lab).socket.exists()
    assert places_of(lab).supervisor_log.stat().st_mtime_ns == log.st_mtime_ns


def test_a_mistake_in_the_file_is_told_by_a_supervisor_that_runs(lab: Lab) -> None:
    lab.config(SERVE)
    lab.json("up")
    lab.config(SERVE.replace("command", "comand"))
    assert "comand" in lab.json("up", code=2)["error"]["message"]
    assert lab.service("web")["phase"] == "ready"
    assert [one["service"] for one in lab.json("down")["stopped"]] == ["web"]


def test_a_supervisor_whose_code_was_replaced_makes_room_for_a_new_one(lab: Lab) -> None:
    lab.config(SERVE)
    service = lab.json("up")["services"][0]
    lab.kill_supervisor()
    places = places_of(lab)
    places.socket.unlink()
    files = [str(places.supervisor_lock), str(places.socket)]
    with subprocess.Popen([sys.executable, "-c", OUTDATED, *files]) as outdated:
        wait_for(lambda: _answers(places.socket))
        stopped = lab.json("down")["stopped"]
        assert outdated.wait(10) == 0
    assert [(one["service"], one["left"]) for one in stopped] == [("web", [])]
    assert not is_alive(service["pid"])


def places_of(lab: Lab) -> ProjectPlaces:
    return Registry(Home(lab.home)).places(lab.root)


def _answers(path: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        return True
    return False
