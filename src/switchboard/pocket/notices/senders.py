"""Carrying one message over, in each of the ways."""

import asyncio
import base64
import os
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.oauth.addresses import AddressRules
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.pocket.notices.question_notice import QuestionNotice
from switchboard.pocket.notices.ways import Way
from switchboard.procs.run import ProcessRun
from switchboard.procs.spawn import SpawnSpec
from switchboard.wire.http_hosts import is_loopback
from switchkit.reaper_client import Reaper

# A message takes no longer, or is dropped.
SEND_S = 10.0
_START_S = 5.0
NOTIFY_SEND = "notify-send"
_DENY = "deny"
_OK = range(200, 300)
# What a program that tells somebody needs to find their screen. Nothing else of ours is for it.
_KEPT = (
    *("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR", "DISPLAY"),
    *("DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "XAUTHORITY"),
)

# Told when somebody refused by a button: the token of the no.
Refuse = Callable[[str], Awaitable[None]]


class Sender(Protocol):
    """One way to tell somebody."""

    async def send(self, notice: QuestionNotice, /) -> None:
        """Tell it. Raises a fault, whose words hold no address."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds."""
        ...


def sender_for(way: Way, environ: Mapping[str, str], reaper: Reaper, refuse: Refuse) -> Sender:
    """The sender of a way."""
    match way.kind:
        case "desktop":
            return DesktopSender(environ, reaper, refuse)
        case "command":
            return CommandSender(way, environ, reaper)
        case "ntfy" | "webhook":
            return WebSender(way, environ)


class WebSender:
    """A webhook, or a topic of an ntfy server."""

    def __init__(self, way: Way, environ: Mapping[str, str]) -> None:
        self._way = way
        host = (urlsplit(way.to).hostname or "").lower()
        # Its owner wrote it down, so it may be in a network of their own.
        rules = AddressRules(loopback=is_loopback(host), own_hosts=frozenset({host}))
        self._web = GuardedWeb(rules, environ)
        self._headers = {"authorization": _authorization(way.login)} if way.login else {}

    async def send(self, notice: QuestionNotice, /) -> None:
        body = msgspec.json.encode(
            _published(self._way.topic, notice) if self._way.kind == "ntfy" else notice.fields()
        )
        what = "the webhook" if self._way.kind == "webhook" else "the ntfy server"
        try:
            async with asyncio.timeout(SEND_S):
                answer = await self._web.post_json(self._way.to, what, body, self._headers)
        except TimeoutError:
            raise _failed(f"{what} did not answer within {SEND_S:g} s") from None
        except Fault as fault:
            # Its own words name the host.
            raise _failed(f"{what} cannot be reached ({fault.reason})") from None
        if answer.status not in _OK:
            raise _failed(f"{what} answered {answer.status}")

    async def aclose(self) -> None:
        await self._web.aclose()


class CommandSender:
    """A program of the user's: the words are its last arguments, and as JSON its input."""

    def __init__(self, way: Way, environ: Mapping[str, str], reaper: Reaper) -> None:
        self._line = way.to
        self._environ = environ
        self._reaper = reaper

    async def send(self, notice: QuestionNotice, /) -> None:
        try:
            words = (*shlex.split(self._line), notice.title, notice.text)
        except ValueError:
            raise _failed("the command has a quotation mark without its other half") from None
        body = msgspec.json.encode(notice.fields()) + b"\n"
        status, _ = await _ran(words, self._environ, self._reaper, SEND_S, body)
        if status != 0:
            raise _failed(f"the command ended with {status}")

    async def aclose(self) -> None:
        """It holds nothing."""


class DesktopSender:
    """A notification of the desktop, with a button for a no."""

    def __init__(self, environ: Mapping[str, str], reaper: Reaper, refuse: Refuse) -> None:
        self._environ = environ
        self._reaper = reaper
        self._refuse = refuse

    async def send(self, notice: QuestionNotice, /) -> None:
        """Show it. With a button this lasts until it is closed, so whoever sends need not wait."""
        shown = (notice.title, notice.text)
        if notice.id:
            shown = (notice.title, f"{notice.text}\nswitchboard approvals show {notice.id}")
        words = (NOTIFY_SEND, "--app-name=Switchboard", "--urgency=critical")
        if notice.no:
            words = (*words, f"--action={_DENY}=Deny", "--wait")
        left_s = max(1.0, notice.expires_at - time.time()) if notice.no else SEND_S
        status, said = await _ran((*words, "--", *shown), self._environ, self._reaper, left_s)
        if status != 0:
            raise _failed(f"`{NOTIFY_SEND}` ended with {status}")
        if notice.no and said.strip() == _DENY:
            await self._refuse(notice.no)

    async def aclose(self) -> None:
        """It holds nothing."""


async def _ran(
    words: tuple[str, ...],
    environ: Mapping[str, str],
    reaper: Reaper,
    most_s: float,
    stdin: bytes = b"",
) -> tuple[int | None, str]:
    """How a program ended, and what it printed. Raises a fault."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    spec = SpawnSpec(argv=words, cwd="/", env={**kept, "PATH": path})
    run = ProcessRun(spec, KnownSecrets(()), stdin=stdin)
    try:
        async with asyncio.timeout(most_s):
            end = await run.to_end(reaper=reaper, start_s=_START_S)
    except TimeoutError:
        raise _failed(f"the program did not end within {most_s:.0f} s") from None
    except (Fault, OSError):
        raise _failed("the program cannot be started") from None
    return end.status, end.stdout


def _published(topic: str, notice: QuestionNotice) -> dict[str, object]:
    """A message as ntfy takes it."""
    links = {"Answer": notice.answer_url, "Deny": notice.deny_url}
    actions = [
        {"action": "view", "label": label, "url": url, "clear": True}
        for label, url in links.items()
        if url
    ]
    message: dict[str, object] = {
        "topic": topic,
        "title": notice.title,
        "message": notice.text,
        "priority": 4,
    }
    if actions:
        message |= {"actions": actions, "click": notice.answer_url}
    return message


def _authorization(login: str) -> str:
    name, colon, password = login.partition(":")
    if not colon:
        return f"Bearer {unquote(name)}"
    both = f"{unquote(name)}:{unquote(password)}".encode()
    return f"Basic {base64.b64encode(both).decode()}"


def _failed(message: str) -> Fault:
    return Fault(FaultCode.UNAVAILABLE, "notice-failed", message)
