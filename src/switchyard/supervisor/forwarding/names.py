"""The names `service.branch.project.localhost`: the first request head picks the service."""

import contextlib
import json
import re

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


def _answer(status: str, body: dict[str, object]) -> DirectAnswer:
    raw = json.dumps(body).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(raw)}\r\nConnection: close\r\n\r\n"
    )
    return DirectAnswer(head.encode() + raw)


def _backend(home: Home, host: str, tld: str) -> Backend | str:
    """The service behind a name, or why there is none."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    labels = name.lower().removesuffix(f".{tld}").split(".")
    if len(labels) != _LABELS:
        return f"`{name}` is not the name of a service; names are service.branch.project.{tld}"
    service, branch, project = labels
    registry = Registry(home)
    for known in registry.read().projects.values():
        if known.slug != project:
            continue
        book = RunBook(registry.places(known.root))
        run = book.get(branch, service) or book.get(SHARED_SLUG, service)
        if run and run.port and Observer().observe(run).status == "running":
            return Backend(run.host, run.port)
    return f"nothing runs as `{service}` on `{branch}` of `{project}`"


def names_router(home: Home, tld: str) -> Router:
    """Sends each connection to the service that its Host header names."""

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
            goal = _backend(home, host[1].strip(b" \t").decode("ascii", "replace"), tld)
        except YardFault as fault:
            goal = fault.message
        if isinstance(goal, str):
            return _answer("502 Bad Gateway", {"ok": False, "error": goal})
        return goal

    return router


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
