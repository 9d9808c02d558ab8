"""Canonical ports: raw bytes, both families, and a switch that nobody notices."""

import hashlib
import os
import re
import signal
import socket
import threading
import time

import pytest
from yardlab import Lab, connects, free_port, get, suspend, wait_for

from support.requirements import requirement


@pytest.fixture
def port(lab: Lab) -> int:
    """Give the canonical port of `web`, with two branches running."""
    chosen = free_port()
    lab.config(f'[services.web]\ncommand = [SVC, "serve"]\nport = {chosen}\n')
    lab.repository()
    lab.json("create", "side")
    lab.json("up")
    lab.json("up", "side")
    return chosen


@requirement("S1.51", "S1.52", "S1.70")
def test_the_canonical_port_leads_to_the_branch_on_both_families(lab: Lab, port: int) -> None:
    assert not connects(port)
    lab.json("checkout")
    assert get(port) == "main web"
    assert get(port, host="::1") == "main web"
    told = lab.json("checkout", "side")["checkouts"][0]
    assert told["result"] == "switched"
    assert get(port) == "side web"
    lab.json("uncheckout")
    assert not connects(port)
    assert not connects(port, "::1")


def test_up_and_status_say_which_branch_has_the_canonical_port(lab: Lab, port: int) -> None:
    nobody = f"{port} leads to no web yet: switchyard checkout "
    assert f"{nobody}main\n" in lab.sy("up").out
    assert nobody in lab.sy("status").out
    lab.json("checkout", "side")
    for words in (("up",), ("status",), ("status", "side")):
        assert f"{port} -> web of side\n" in lab.sy(*words).out


def test_what_all_branches_share_is_checked_out_with_any_of_them(lab: Lab) -> None:
    web, shared = free_port(), free_port()
    lab.config(
        f'[services.web]\ncommand = [SVC, "serve"]\nport = {web}\n'
        f'[services.db]\ncommand = [SVC, "serve"]\nport = {shared}\nscope = "project"\n'
    )
    lab.repository()
    lab.json("create", "side")
    lab.json("up", "side")
    assert f"{shared} leads to no db yet: switchyard checkout\n" in lab.sy("up").out
    said = lab.sy("checkout", "side").out
    assert said == f"{web} -> web of side\n{shared} -> db of all branches\n"
    assert f"{shared} -> db of all branches\n" in lab.sy("status").out
    assert (get(web), get(shared)) == ("side web", "* db")
    rows = lab.json("checkout", "main")["checkouts"]
    assert [one["result"] for one in rows] == ["switched", "unchanged"]
    lab.kill_supervisor()
    lab.json("up")
    assert (get(web), get(shared)) == ("main web", "* db")
    lab.json("down", "main")
    assert not connects(web)
    assert get(shared) == "* db", "the other branch goes on with it"
    lab.json("down")
    assert not connects(shared)


def test_logs_of_two_branches_say_whose_a_line_is(lab: Lab, port: int) -> None:
    lab.json("checkout", "side")
    assert get(port) == "side web"
    several = {line.partition(" | ")[0] for line in lab.sy("logs", "web").out.splitlines()}
    assert several == {"web of main", "web of side"}
    named = lab.sy("logs", "web", "--branch", "side").out
    assert named
    assert " | " not in named
    for words in (("web", "side"), ("side", "web"), ("side",)):
        assert lab.sy("logs", *words).out == named
    assert lab.json("logs", "web", "nope", code=2)["error"]["code"] == "unknown-branch"
    told = lab.sy("rm", "side", "--force-tree").out.splitlines()
    assert told[0] == "stopped web of side"


@requirement("S1.71")
def test_a_foreign_listener_is_named_and_left_alone(lab: Lab, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        error = lab.json("checkout", code=4)["error"]
        assert error["code"] == "port-taken"
        assert error["details"]["pid"] == os.getpid()
        assert connects(port)
        assert lab.json("uncheckout")["closed"] == []
        assert connects(port)
    assert lab.json("brief")["checkouts"] == []


def test_a_stranger_that_took_the_port_meanwhile_is_told(lab: Lab, port: int) -> None:
    lab.json("checkout")
    assert [one["active"] for one in lab.json("brief")["checkouts"]] == [True]
    lab.kill_supervisor()
    assert [one["active"] for one in lab.json("brief")["checkouts"]] == [False]
    lab.listener(port)
    for _ in range(2):
        told = lab.json("brief")["checkouts"][0]
        assert told["active"] is False
        assert told["port_owner"]["pid"] == os.getpid()
        assert f"process {os.getpid()}" in lab.sy("brief").out
        lab.json("up")
    lab.json("uncheckout")
    assert lab.json("brief")["checkouts"] == []
    assert connects(port)


def test_what_does_not_run_cannot_be_checked_out(lab: Lab, port: int) -> None:
    lab.json("down", "--branch", "main")
    assert lab.json("checkout", code=4)["error"]["code"] == "cannot-checkout"
    assert not connects(port)


def test_stopping_a_branch_lets_its_port_go(lab: Lab, port: int) -> None:
    lab.json("checkout")
    lab.json("down", "--branch", "main")
    assert not connects(port)
    assert lab.json("brief")["checkouts"] == []


def test_many_requests_go_over_one_connection(lab: Lab, port: int) -> None:
    lab.json("checkout")
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        for _ in range(50):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            raw = b""
            while not raw.endswith(b"main web"):
                raw += client.recv(4096)


def test_an_event_stream_is_not_held_back(lab: Lab, port: int) -> None:
    lab.json("checkout")
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        began = time.monotonic()
        raw = b""
        while b"data: one" not in raw:
            raw += client.recv(4096)
        first = time.monotonic() - began
        assert b"data: two" not in raw
        while b"data: two" not in raw:
            raw += client.recv(4096)
        assert first < 0.5 < time.monotonic() - began


@pytest.mark.parametrize("size", [1, 70_000, 20_000_000])
def test_bytes_arrive_as_they_were_and_half_a_goodbye_is_passed_on(
    lab: Lab, port: int, size: int
) -> None:
    lab.json("checkout")
    sent = b"\x16" + os.urandom(size)
    back = hashlib.sha256()
    with socket.create_connection(("127.0.0.1", port), 10) as client:

        def send() -> None:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        thread.start()
        tail = b""
        while part := client.recv(1 << 18):
            tail += part
            if len(tail) > 100:
                back.update(tail[:-100])
                tail = tail[-100:]
        thread.join()
    # The service says how much it got only after it has seen the end of what was sent.
    mark = f"<{len(sent)}>".encode()
    assert tail.endswith(mark)
    back.update(tail[: -len(mark)])
    assert back.hexdigest() == hashlib.sha256(sent).hexdigest()


def test_a_switch_under_load_refuses_nobody(lab: Lab, port: int) -> None:
    lab.json("checkout")
    stop = threading.Event()
    seen: list[str] = []
    wrong: list[OSError] = []

    def knock() -> None:
        while not stop.is_set():
            try:
                seen.append(get(port))
            except OSError as failure:
                wrong.append(failure)

    with socket.create_connection(("127.0.0.1", port), 5) as old:
        old.sendall(b"\x16before")
        assert old.recv(100) == b"\x16before"
        threads = [threading.Thread(target=knock) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(6):
            branch = "side" if number % 2 == 0 else "main"
            lab.json("checkout", branch)
            wait_for(lambda branch=branch: seen and seen[-1] == f"{branch} web")
        stop.set()
        for thread in threads:
            thread.join()
        old.sendall(b"after")
        assert old.recv(100) == b"after"
    assert wrong == []
    assert set(seen) == {"main web", "side web"}
    assert len(seen) > 100


def test_the_ports_come_back_after_the_supervisor_was_killed(lab: Lab, port: int) -> None:
    lab.json("checkout")
    lab.kill_supervisor()
    assert lab.json("brief")["checkouts"][0]["active"] is False
    assert not connects(port)
    lab.json("up")
    assert get(port) == "main web"
    assert lab.json("brief")["checkouts"][0]["active"] is True


def test_a_slow_reader_does_not_fill_the_memory(lab: Lab, port: int) -> None:
    lab.json("checkout")
    supervisor = lab.supervisor()
    assert supervisor
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.settimeout(1.0)
        sent = 0
        try:
            while sent < 80_000_000:
                sent += client.send(b"\x16" * 1_000_000)
        except TimeoutError:
            pass
        with open(f"/proc/{supervisor}/status") as status:  # noqa: PTH123 - one line of /proc
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert resident < 40_000
    assert sent < 80_000_000


def test_a_service_that_starts_again_keeps_its_canonical_port(lab: Lab, port: int) -> None:
    lab.json("checkout", "side")
    lab.json("restart", "side", "web")
    assert get(port) == "side web"
    path = lab.root / "switchyard.toml"
    path.write_text(f"{path.read_text()}\n[services.web.env]\nGREETING = 'new'\n")
    lab.json("up", "side", "--recreate")
    assert get(port) == "side web"
    other = free_port()
    path.write_text(path.read_text().replace(f"port = {port}", f"port = {other}"))
    lab.json("up", "side", "--recreate")
    assert not connects(port)
    lab.json("checkout", "side")
    assert get(other) == "side web"


def test_the_canonical_port_follows_a_service_to_another_address(lab: Lab, port: int) -> None:
    lab.json("checkout")
    path = lab.root / "switchyard.toml"
    text = path.read_text().replace('"serve"]', '"serve"]\nhost = "::1"')
    listing = 'command = ["python3", "-m", "http.server", "{port}", "--bind", "{host}"]'
    path.write_text(re.sub("(?m)^command = .*$", listing, text))
    lab.json("up", "--recreate")
    assert lab.service("web", "main")["direct_url"].startswith("http://[::1]:")
    assert "Directory listing" in get(port)


def test_the_branch_may_be_the_last_word(lab: Lab, port: int) -> None:
    assert lab.json("restart", "web", "side")["branch"] == "side"
    assert lab.json("checkout", "web", "side")["checkouts"][0]["branch"] == "side"
    assert get(port) == "side web"


def test_a_port_that_still_leads_to_another_branch_is_told(lab: Lab, port: int) -> None:
    other = free_port()
    lab.config(
        f'[services.web]\ncommand = [SVC, "serve"]\nport = {port}\n'
        f'[services.api]\ncommand = [SVC, "serve"]\nport = {other}\n'
    )
    lab.json("up")
    assert lab.json("checkout")["warnings"] == []
    told = f"{other} still leads to `api` of `main`: it does not run on `side`"
    assert lab.json("checkout", "side")["warnings"] == [told]
    assert f"warning: {told}" in lab.sy("checkout", "side").out
    assert (get(port), get(other)) == ("side web", "main api")
    assert lab.json("checkout", "side", "web")["warnings"] == []


def test_a_port_of_a_suspended_supervisor_is_not_told_as_active(lab: Lab, port: int) -> None:
    lab.json("checkout")
    supervisor = lab.supervisor()
    assert supervisor is not None
    suspend({supervisor})
    [told] = lab.json("brief")["checkouts"]
    assert (told["port"], told["active"], told["suspended"]) == (port, False, True)
    assert f"{port} -> web of main: not active, the supervisor is suspended" in lab.sy("brief").out
    os.kill(supervisor, signal.SIGCONT)
    assert get(port) == "main web"
    assert lab.json("brief")["checkouts"][0]["active"] is True
