"""The names `service.branch.project.localhost`: the first request head picks the service."""

import contextlib
import json
import os
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from switchyard.core.fault import YardFault
from switchyard.project.home import Home
from switchyard.project.registry import Registry
from switchyard.project.scope import SHARED_SLUG
from switchyard.runtime.observed import Observer
from switchyard.runtime.runs import RunBook
from switchyard.supervisor.forwarding.sockets import dial
from switchyard.supervisor.forwarding.tcp_relay import Backend, DirectAnswer, Router

HEALTH_PATH = b"/__switchyard/health"
_HOST = re.compile(rb"\r\nhost:([^\r\n]*+)\r\n", re.IGNORECASE)
_LABELS = 3
# How long the kernel is not asked again about a name, and how many names are remembered.
_KNOWN_S = 0.25
_MOST_KNOWN = 256


def _answer(status: str, body: dict[str, object]) -> DirectAnswer:
    raw = json.dumps(body).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(raw)}\r\nConnection: close\r\n\r\n"
    )
    return DirectAnswer(head.encode() + raw)


class _Known(NamedTuple):
    """What a name led to a moment ago, and the record that said so as it was then."""

    until: float
    record: str
    stamp: tuple[int, int] | None
    goal: Backend | str


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


class _Names:
    """Which service a name means. The kernel is asked about a busy name a few times a second.

    A record is replaced whenever its service starts, ends or is stopped, and then it is asked anew.
    """

    def __init__(self, home: Home, tld: str) -> None:
        self._home = home
        self._tld = tld
        self._known: dict[str, _Known] = {}

    def find(self, host: str) -> Backend | str:
        """The service behind a name, or why there is none."""
        known = self._known.get(host)
        now = time.monotonic()
        if known and now < known.until and _stamp(known.record) == known.stamp:
            return known.goal
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        record, goal = self._asked(host)
        self._known[host] = _Known(now + _KNOWN_S, record, _stamp(record), goal)
        return goal

    def _asked(self, host: str) -> tuple[str, Backend | str]:
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        labels = name.lower().removesuffix(f".{self._tld}").split(".")
        form = f"names are service.branch.project.{self._tld}"
        if len(labels) != _LABELS:
            return "", f"`{name}` is not the name of a service; {form}"
        service, branch, project = labels
        registry = Registry(self._home)
        # Where its record appears when it starts; until then nothing is known of it.
        record = ""
        for known in registry.read().projects.values():
            if known.slug != project:
                continue
            book = RunBook(registry.places(known.root))
            record = str(book.path(branch, service))
            run = book.get(branch, service)
            if run is None and (run := book.get(SHARED_SLUG, service)):
                record = str(book.path(SHARED_SLUG, service))
            if run and run.port and Observer().observe(run).status == "running":
                return record, Backend(run.host, run.port)
        return record, f"nothing runs as `{service}` on `{branch}` of `{project}`"


def names_router(home: Home, tld: str) -> Router:
    """Sends each connection to the service that its Host header names."""
    names = _Names(home, tld)

    def router(head: bytes) -> Backend | DirectAnswer | None:
        if b"\r\n\r\n" not in head and b"\n\n" not in head:
            return None
        path = head.split(b" ", 2)[1:2]
        if path == [HEALTH_PATH]:
            return _answer("200 OK", {"ok": True, "home": str(home.path)})
        host = _HOST.search(head[: head.find(b"\r\n\r\n") + 2])
        if host is None:
            return _answer("400 Bad Request", {"ok": False, "error": "no Host header"})
        try:
            goal = names.find(host[1].strip(b" \t").decode("ascii", "replace"))
        except YardFault as fault:
            goal = fault.message
        if isinstance(goal, str):
            return _answer("502 Bad Gateway", {"ok": False, "error": goal})
        return goal

    return router


def names_of_projects(home: Home, tld: str) -> Callable[[str], bool]:
    """Whether a name is of a project of this home; what runs of it is asked later."""

    def is_known(name: str) -> bool:
        labels = name.removesuffix(f".{tld}").split(".")
        if len(labels) != _LABELS:
            return False
        return any(one.slug == labels[-1] for one in Registry(home).read().projects.values())

    return is_known


def foreign_names(port: int, home: Home) -> str | None:
    """The home of another yard that already serves names on this port, if any."""
    try:
        with dial("127.0.0.1", port, 0.5) as asked:
            asked.sendall(b"GET " + HEALTH_PATH + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            raw = b""
            while part := asked.recv(4096):
                raw += part
    except OSError:
        return None
    with contextlib.suppress(ValueError):
        found = json.loads(raw.partition(b"\r\n\r\n")[2]).get("home")
        return None if found == str(home.path) else str(found)
    return "another program"
