"""The example shop: one command, real PostgreSQL, and canonical ports under real clients."""

import http.client
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from yardlab import Json, Lab, connects, free_port, wait_for

from support.requirements import requirement

EXAMPLE = Path(__file__).parents[2] / "examples" / "shop"
SERVICES = ["postgres", "migrate", "api", "worker", "web"]


@pytest.fixture
def shop(lab: Lab) -> Generator[tuple[Lab, dict[str, int]]]:
    """Give a copy of the example in a repository, with free canonical ports."""
    shutil.copytree(
        EXAMPLE, lab.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    path = lab.root / "switchyard.toml"
    text = path.read_text() + f"\n[proxy]\nport = {lab.proxy_port}\n"
    ports = {"postgres": free_port(), "api": free_port(), "web": free_port()}
    for port, name in ((5432, "postgres"), (8000, "api"), (3000, "web")):
        assert f"port = {port}\n" in text
        text = text.replace(f"port = {port}\n", f"port = {ports[name]}\n")
    path.write_text(text)
    lab.repository()
    yield lab, ports
    lab.sy("down", code=None)
    for folder in lab.home.glob("projects/*/data/*/postgres"):
        made = Path("/var/tmp") / f"switchyard-postgres-{folder.stat().st_ino}"
        shutil.rmtree(made, ignore_errors=True)


def ask(port: int, method: str, path: str, body: Json | None = None) -> str:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    client.request(method, path, json.dumps(body) if body else None)
    try:
        return client.getresponse().read().decode()
    finally:
        client.close()


def psql(port: int, sql: str) -> str:
    words = [
        "psql",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-U",
        "postgres",
        "-d",
        "postgres",
        "-qtAc",
        sql,
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.strip()


@requirement("S1.50", "S1.51", "S1.53")
def test_one_command_brings_up_the_shop_and_checkout_serves_real_clients(
    shop: tuple[Lab, dict[str, int]],
) -> None:
    lab, ports = shop
    made = lab.json("up")
    assert [one["service"] for one in made["services"]] == SERVICES
    assert {one["service"]: one["phase"] for one in made["services"]} == {
        "postgres": "ready",
        "migrate": "completed",
        "api": "ready",
        "worker": "ready",
        "web": "ready",
    }
    lab.json("create", "side")
    lab.json("up", "side")
    lab.json("checkout", "main")

    assert ask(ports["api"], "POST", "/orders", {"item": "a 'tea' pot"}) == '{"ok": true}'
    wait_for(lambda: "a &#x27;tea&#x27; pot: packed" in ask(ports["web"], "GET", "/"))
    assert psql(ports["postgres"], "select count(*) from orders") == "1"

    # A long query and a kept-alive HTTP connection stay with main while the ports go to side.
    told: list[str] = []
    slow = threading.Thread(
        target=lambda: told.append(
            psql(ports["postgres"], "select pg_sleep(3), count(*) from orders").lstrip("|")
        )
    )
    client = http.client.HTTPConnection("127.0.0.1", ports["api"], timeout=10)
    client.request("GET", "/health")
    assert json.loads(client.getresponse().read())["branch"] == "main"
    slow.start()
    wait_for(
        lambda: (
            psql(
                ports["postgres"],
                "select count(*) from pg_stat_activity where query like 'select pg_sleep%'",
            )
            == "1"
        )
    )
    lab.json("checkout", "side")
    assert psql(ports["postgres"], "select count(*) from orders") == "0"
    assert "Shop on side" in ask(ports["web"], "GET", "/")
    client.request("GET", "/health")
    assert json.loads(client.getresponse().read())["branch"] == "main"
    client.close()
    slow.join()
    assert told == ["1"]

    pids = [one["pid"] for one in lab.json("status")["services"] if one["pid"]]
    assert len(pids) == 8
    lab.json("down")
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)  # noqa: PTH110 - the process table
    assert not any(connects(port) for port in ports.values())
    assert lab.ours() == []
