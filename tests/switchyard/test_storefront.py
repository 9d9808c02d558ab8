"""Vite, FastAPI, PostgreSQL and a worker, two branches of them, with their own ways to reload."""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from stacks import ask, copied, with_vite
from yardlab import Json, Lab, at_work, connects, is_alive, wait_for


@pytest.fixture
def storefront(lab: Lab) -> Generator[dict[int, int]]:
    ports = copied(lab, "storefront")
    with_vite(lab)
    yield ports
    lab.sy("down", code=None)
    for folder in lab.home.glob("projects/*/data/*/postgres"):
        made = Path("/var/tmp") / f"switchyard-postgres-{folder.stat().st_ino}"
        shutil.rmtree(made, ignore_errors=True)


def hot_updates(port: int) -> socket.socket:
    """Open the WebSocket over which Vite tells a page what has changed."""
    token = re.search(r'wsToken = "([^"]+)"', ask(port, "/@vite/client"))
    assert token
    made = socket.create_connection(("127.0.0.1", port), 20)
    key = base64.b64encode(os.urandom(16)).decode()
    made.sendall(
        f"GET /?token={token[1]} HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: vite-hmr\r\n\r\n".encode()
    )
    return made


def heard(connection: socket.socket, text: bytes) -> bytes:
    """Read from a connection until this was in it."""
    found = b""
    while text not in found:
        part = connection.recv(65536)
        assert part, found
        found += part
    return found


def databases(port: int) -> list[str]:
    sql = "select datname from pg_database where datname like 'storefront%' order by 1"
    words = ["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-qtAc", sql]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.split()


def health(port: int) -> Json:
    """Ask an API how it is; nothing while it starts again."""
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        return json.loads(ask(port, "/health"))
    return {}


def change(path: Path, line: str, to: str) -> None:
    text = path.read_text()
    assert line in text
    path.write_text(text.replace(line, to))


def rows(lab: Lab, branch: str) -> dict[str, Json]:
    return {one["service"]: one for one in lab.json("up", branch)["services"]}


def test_two_branches_run_reload_and_end_side_by_side(lab: Lab, storefront: dict[int, int]) -> None:
    web, api, postgres = storefront[5173], storefront[8000], storefront[5432]
    main = rows(lab, "main")
    assert {name: one["phase"] for name, one in main.items()} == {
        "postgres": "ready",
        "migrate": "completed",
        "api": "ready",
        "worker": "ready",
        "web": "ready",
    }
    tree = Path(lab.json("create", "side")["path"])
    side = rows(lab, "side")
    assert side["postgres"]["pid"] == main["postgres"]["pid"]
    lab.json("checkout", "main")
    assert len(databases(postgres)) == 2

    look_at_a_page(lab, storefront, main, side)
    reload_one_branch(lab, api, tree, main, side)
    lose_the_wrapper_of_vite(lab, web, tree, side)

    assert lab.json("rm", "side", "--force-tree")["dropped"] == ["db"]
    assert at_work(tree) == set()
    (row,) = lab.json("status")["resources"]
    assert databases(main["postgres"]["port"]) == [row["address"].rpartition("/")[2]]
    lab.json("down")
    assert at_work(lab.root) == set()
    assert not any(connects(port) for port in (web, api, postgres, main["postgres"]["port"]))


def look_at_a_page(
    lab: Lab, ports: dict[int, int], main: dict[str, Json], side: dict[str, Json]
) -> None:
    """An order goes through Vite, FastAPI and PostgreSQL to the worker and back, on one branch."""
    web = ports[5173]
    stream = http.client.HTTPConnection("127.0.0.1", web, timeout=20)
    stream.request("GET", "/api/events")
    events = stream.getresponse()
    assert events.readline() == b"data: []\n"
    assert json.loads(ask(web, "/api/orders", {"item": "tea"})) == {"ok": True}
    wait_for(lambda: b'"state": "packed"' in events.readline())
    assert json.loads(ask(side["api"]["port"], "/orders")) == []

    # Vite tells the page of a change, over a WebSocket through the canonical port.
    page = hot_updates(web)
    heard(page, b'"connected"')
    change(lab.root / "main.js", "const list", "// changed\nconst list")
    heard(page, b"/main.js")

    # To check out the other branch cuts neither.
    lab.json("checkout", "side")
    assert health(ports[8000])["branch"] == "side"
    assert json.loads(ask(web, "/api/health"))["branch"] == "side"
    ask(main["api"]["port"], "/orders", {"item": "cup"})
    wait_for(lambda: b'"cup"' in events.readline())
    change(lab.root / "main.js", "// changed", "// again")
    heard(page, b"/main.js")
    page.close()
    stream.close()


def reload_one_branch(
    lab: Lab, api: int, tree: Path, main: dict[str, Json], side: dict[str, Json]
) -> None:
    """Reload its API by uvicorn and its worker by Switchyard; the other branch is left alone."""
    change(tree / "api.py", "EDITION = 1", "EDITION = 2")
    wait_for(lambda: health(api).get("edition") == 2)
    assert lab.service("api", "side")["pid"] == side["api"]["pid"]
    change(tree / "worker.py", '"packed", row', '"wrapped", row')
    wait_for(lambda: lab.service("worker", "side")["pid"] not in (None, side["worker"]["pid"]))
    wait_for(lambda: lab.service("worker", "side")["phase"] == "ready")
    ask(api, "/orders", {"item": "pot"})
    wait_for(lambda: "wrapped pot" in lab.sy("logs", "worker", "side").out)
    assert health(main["api"]["port"])["edition"] == 1
    assert lab.service("worker", "main")["pid"] == main["worker"]["pid"]


def lose_the_wrapper_of_vite(lab: Lab, web: int, tree: Path, side: dict[str, Json]) -> None:
    """Vite goes on when npm dies: told as what it is, and brought back by `up`."""
    os.kill(side["web"]["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(side["web"]["pid"]))
    left = wait_for(lambda: (row := lab.service("web", "side"))["phase"] == "orphaned" and row)
    assert set(left["pids"]) <= at_work(tree)
    assert connects(left["port"])
    lab.json("up", "side")
    assert not any(is_alive(pid) for pid in left["pids"])
    lab.json("checkout", "side")
    assert json.loads(ask(web, "/api/health"))["branch"] == "side"
