"""A server that was started and never greeted: what it printed instead, and what that means."""

import shlex
from collections import deque

from switchboard.children.link import Link
from switchboard.children.schema import ServerEntry
from switchboard.children.starting.known_causes import known_cause
from switchboard.children.starting.runners import fetches_packages, name_of
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.excerpts import client_excerpt

_MOST_LINES = 5
_MOST_CHARS = 200
# What may help where nothing but time was missing.
SLOW = "raise `rpcTimeoutMs` for this server"


class StrayLines:
    """The first lines that a server printed where only messages belong."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._count = 0

    def note(self, line: bytes) -> None:
        """Keep one of them, if it is among the first."""
        self._count += 1
        text = line[:_MOST_CHARS].decode("utf-8", "replace").strip()
        if text and self._count <= _MOST_LINES:
            self._lines.append(text)

    def __str__(self) -> str:
        return "\n".join(self._lines)


async def fault_from_silence(
    entry: ServerEntry, link: Link, stray: StrayLines, limit_s: float
) -> Fault:
    """It was given time enough, and did not answer the first question."""
    message = f"`{entry.name}` did not answer within {limit_s:g} s"
    if entry.transport != "stdio":
        return Fault(FaultCode.DEADLINE_EXCEEDED, "child-start-timeout", message, hint=SLOW)
    _, private = await link.diagnosis()
    runner = name_of(entry.command)
    printed, errors = link.hidden(str(stray)), client_excerpt(private, link.hidden).strip()
    cause = known_cause(entry.command, f"{private}\n{printed}")
    hint = owner_hint = ""
    if cause is not None:
        message, hint = f"{message}: {cause.what}", cause.fix
    elif printed:
        message += f"; `{runner}` printed on stdout what is no message of MCP"
        hint, owner_hint = _with_trial(
            entry, link, "an MCP server prints messages only; look whether it needs an option; {}"
        )
    elif errors:
        message += f"; `{runner}` printed on stderr, and no message"
        hint, owner_hint = _with_trial(entry, link, "{}")
    elif fetches_packages(entry.command):
        message += f"; `{runner}` printed nothing: it still fetches, or does not reach its registry"
        hint = f"see why with `switchboard doctor --deep`; if it is only slow, {SLOW}"
    else:
        message += f"; `{runner}` runs and printed nothing"
        hint, owner_hint = _with_trial(entry, link, f"{{}}; if it is only slow, {SLOW}")
    if entry.sandbox_profile != "none" and (bounds := _bounds(entry)):
        message += f"; its sandbox has {bounds}"
    details = {"runner": runner, "stderr": errors, "stdout": client_excerpt(printed)}
    return Fault(
        FaultCode.DEADLINE_EXCEEDED,
        "child-start-timeout",
        message,
        hint=hint,
        details={name: text for name, text in details.items() if text},
        private=private,
        owner={"stdout": printed} if printed else None,
        owner_hint=owner_hint,
    )


def trial(entry: ServerEntry, link: Link) -> tuple[str, str]:
    """What shows a person how a server starts: for clients, and for its owner with real paths."""
    line = link.hidden(shlex.join((entry.command, *entry.args)))
    told = f"try it at a terminal: {line}"
    if client_excerpt(line) == line:
        return told, told
    return "try it at a terminal: `switchboard doctor --deep` says the command", told


def _with_trial(entry: ServerEntry, link: Link, words: str) -> tuple[str, str]:
    client, owner = trial(entry, link)
    return words.format(client), words.format(owner)


def _bounds(entry: ServerEntry) -> str:
    """What of its sandbox may have kept it from answering."""
    network = () if entry.allow_network or entry.egress else ("no network",)
    limits = ", ".join(f"{name} {value}" for name, value in sorted((entry.limits or {}).items()))
    return " and ".join((*network, *([f"at most {limits}"] if limits else [])))
