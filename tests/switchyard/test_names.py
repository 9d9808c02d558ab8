"""Names under load: quick, and never older than the record of their service."""

import pytest
from yardlab import Lab, free_port, get, wait_for

from switchyard.project.home import Home
from switchyard.runtime.observed import Observer
from switchyard.supervisor.forwarding import names
from switchyard.supervisor.forwarding.tcp_relay import Backend, DirectAnswer

SERVE = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'
HEAD = b"GET / HTTP/1.1\r\nHost: web.default.shop.localhost\r\n\r\n"


def test_the_kernel_is_asked_about_a_busy_name_now_and_then(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.config(SERVE)
    lab.json("up")
    asked: list[int] = []

    class Counted(Observer):
        def __init__(self) -> None:
            asked.append(1)
            super().__init__()

    monkeypatch.setattr(names, "Observer", Counted)
    monkeypatch.setattr(names, "_KNOWN_S", 60.0)
    router = names.names_router(Home(lab.home), "localhost")
    found = [router(HEAD) for _ in range(500)]
    assert all(isinstance(one, Backend) for one in found)
    assert len(asked) == 1
    # However long it is remembered, what has stopped is not found any more.
    lab.json("down")
    assert isinstance(router(HEAD), DirectAnswer)
    lab.json("up")
    assert isinstance(router(HEAD), Backend)


def test_a_name_says_at_once_what_has_become_of_its_service(lab: Lab) -> None:
    lab.config(SERVE + '[services.other]\ncommand = [SVC, "serve"]\nport = 0\n')
    lab.json("up")
    name = "web.default.shop.localhost"
    for _ in range(3):
        assert get(lab.proxy_port, name=name) == "default web"
        lab.json("down", "-b", "default", "web")
        assert "nothing runs as `web`" in get(lab.proxy_port, name=name)
        lab.json("up", "-b", "default", "web")
    wait_for(lambda: get(lab.proxy_port, name=name) == "default web")


def test_any_number_of_clones_side_by_side_have_names_of_their_own(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    lab.repository()
    clones = [lab.root.with_name(f"shop-{number}") for number in range(1, 5)]
    for clone in clones:
        lab.git("clone", "-q", str(lab.root), str(clone))
        lab.cleanup(lambda clone=clone: lab.sy("down", cwd=clone, code=None))
    urls = [lab.json("up", cwd=one)["services"][0]["url"] for one in (lab.root, *clones)]
    assert len(set(urls)) == len(urls)
    for one, url in zip((lab.root, *clones), urls, strict=True):
        assert lab.json("where", "web", cwd=one)["service"]["url"] == url


def test_a_port_that_another_clone_has_checked_out_is_told_with_what_to_type(lab: Lab) -> None:
    lab.config(f'[services.web]\ncommand = [SVC, "serve"]\nport = {free_port()}\n')
    lab.repository()
    clone = lab.root.with_name("other")
    lab.git("clone", "-q", str(lab.root), str(clone))
    lab.cleanup(lambda: lab.sy("down", cwd=clone, code=None))
    lab.json("up")
    lab.json("up", cwd=clone)
    lab.json("checkout", cwd=clone)
    refused = lab.json("checkout", code=4)["error"]
    assert f"is checked out by the project in {clone}" in refused["message"]
    assert refused["hint"] == f"run `switchyard uncheckout` in {clone}"
    lab.json("uncheckout", cwd=clone)
    lab.json("checkout")
