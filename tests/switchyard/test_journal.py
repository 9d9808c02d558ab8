"""Django, Redis and a queue of Celery, two branches of them on one Redis."""

import contextlib
import http.client
import json
import os
import signal
import socket

import pytest
from stacks import ask, copied
from yardlab import Json, Lab, at_work, connects, is_alive, wait_for


@pytest.fixture
def ports(lab: Lab) -> dict[int, int]:
    return copied(lab, "journal")


def entries(port: int) -> list[Json]:
    """List the entries of a branch; none while its site starts again."""
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        return json.loads(ask(port, "/entries"))["entries"]
    return []


def keys(port: int) -> list[str]:
    """Ask Redis itself for all of its keys."""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"KEYS *\r\nPING\r\n")
        raw = b""
        while b"+PONG" not in raw:
            raw += client.recv(65536)
    return [one.decode() for one in raw.split(b"\r\n") if one and one[:1] not in b"*$+"]


def test_tasks_of_two_branches_on_one_redis_stay_apart(lab: Lab, ports: dict[int, int]) -> None:
    main = {one["service"]: one for one in lab.json("up")["services"]}
    assert {name: one["phase"] for name, one in main.items()} == {
        "redis": "ready",
        "migrate": "completed",
        "tasks": "ready",
        "web": "ready",
    }
    lab.json("create", "side")
    side = {one["service"]: one for one in lab.json("up", "side")["services"]}
    assert side["redis"]["pid"] == main["redis"]["pid"]
    lab.json("checkout", "main")

    # The workers of side are stopped, so that only those of main could take the task of main, and
    # those of main none of side.
    lab.json("down", "side", "tasks")
    ask(side["web"]["port"], "/entries", "of side alone")
    ask(ports[8000], "/entries", "one two three four")
    wait_for(lambda: entries(ports[8000]) == [{"text": "one two three four", "words": 4}])
    assert entries(side["web"]["port"]) == [{"text": "of side alone", "words": None}]
    assert "counted 4 on main" in lab.sy("logs", "tasks", "main").out
    waiting = [one for one in keys(ports[6379]) if one.endswith(":celery")]
    assert [one.split("_")[1] for one in waiting] == ["side"]
    lab.json("up", "side")
    wait_for(lambda: entries(side["web"]["port"])[0]["words"] == 3)
    assert "on main" not in lab.sy("logs", "tasks", "side").out

    # Django's reloader starts a second process; without the first it is an orphan, never a ghost.
    os.kill(main["web"]["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(main["web"]["pid"]))
    left = wait_for(lambda: (row := lab.service("web", "main"))["phase"] == "orphaned" and row)
    assert connects(left["port"])
    assert set(left["pids"]) <= at_work(lab.root)
    lab.json("up", "main")
    assert not any(is_alive(pid) for pid in left["pids"])

    # An edit has Django reload its site and Switchyard the queue, with the database as it was.
    queue = lab.service("tasks", "main")["pid"]
    path = lab.root / "journal" / "tasks.py"
    path.write_text(path.read_text().replace("len(entry.text.split())", "len(entry.text)"))
    wait_for(lambda: (row := lab.service("tasks", "main"))["pid"] != queue and row["pid"])
    wait_for(lambda: lab.service("tasks", "main")["phase"] == "ready")
    now = lab.service("web", "main")["port"]
    wait_for(lambda: len(entries(now)) == 1)
    ask(now, "/entries", "ten digits")
    wait_for(lambda: entries(now)[-1]["words"] == 10)

    # What is of a branch goes with it, and nothing else.
    assert sorted(lab.json("rm", "side", "--force-tree")["dropped"]) == ["db", "queue"]
    prefix = next(one for one in keys(ports[6379]) if "main" in one).split(":")[0]
    assert all(one.startswith(prefix) for one in keys(ports[6379]))
    lab.json("down")
    assert at_work(lab.root) == set()
    assert not any(connects(port) for port in ports.values())
