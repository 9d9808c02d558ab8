"""What a verb returns, and how it is shown: text for people, one envelope for machines."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from switchkit.cli.columns import columns
from switchyard.core.fault import YardFault
from switchyard.project.scope import SHARED_BRANCH

if TYPE_CHECKING:
    # Not loaded where nobody asks who has a port.
    from switchyard.runtime.checkouts import Checkout


class YardReport(NamedTuple):
    """The outcome of a verb. `lines` may be endless; `data` is what `--json` shows."""

    action: str
    data: Mapping[str, Any]
    lines: Iterable[str] = ()
    exit_code: int = 0


def _put(text: str) -> None:
    sys.stdout.write(text + "\n")


def _made_safe(stream: TextIO) -> Callable[[str], str]:
    """What keeps lines from steering a terminal: some are what a service has printed."""
    if not stream.isatty():
        return str
    from switchkit.cli.style import safe_for_terminals  # noqa: PLC0415 - most answers are piped

    return safe_for_terminals


def show(report: YardReport, *, as_json: bool) -> int:
    """Print the report to stdout, and return its exit code."""
    if as_json:
        envelope = {
            "schema": f"switchyard.{report.action}/1",
            "ok": report.exit_code == 0,
            "action": report.action,
            **report.data,
        }
        _put(json.dumps(envelope))
    else:
        safe = _made_safe(sys.stdout)
        for line in report.lines:
            _put(safe(line))
            sys.stdout.flush()
    sys.stdout.flush()
    return report.exit_code


def show_fault(fault: YardFault, action: str, *, as_json: bool) -> int:
    """Print the failure: an envelope on stdout for machines, words on stderr for people."""
    if as_json:
        schema = f"switchyard.{action}/1"
        _put(
            json.dumps({"schema": schema, "ok": False, "action": action, "error": fault.as_json()})
        )
        sys.stdout.flush()
        return fault.exit_code
    safe = _made_safe(sys.stderr)
    sys.stderr.write(safe(f"error: {fault.message}\n"))
    lines: list[str] = fault.details.get("log_tail") or fault.details.get("output") or []
    for line in lines:
        sys.stderr.write(safe(f"  | {line}\n"))
    if fault.hint:
        sys.stderr.write(safe(f"\nhint: {fault.hint}\n"))
    return fault.exit_code


def say_safely(text: str) -> None:
    """Print a line to stderr that may hold words of somebody else."""
    sys.stderr.write(f"{_made_safe(sys.stderr)(text)}\n")


def say(text: str) -> None:
    """Print a line to stderr, unless the output is JSON."""
    if sys.stderr.isatty():
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def terminal_width() -> int:
    """How wide the terminal is that stdout is; 0 where it is none, and nothing has to fit."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0


def _told(one: Mapping[str, Any]) -> str:
    """What is to be said of a service besides its phase."""
    reason = str(one.get("reason") or "")
    if one.get("head"):
        reason = f"{reason}: `{one['head']}` is checked out there"
    if one.get("changed"):
        reason = f"{reason} configuration changed: `sy up --recreate`"
    return reason.strip()


def service_lines(services: Iterable[Mapping[str, Any]]) -> list[str]:
    """Services as a table for people."""
    rows = [
        (
            one["service"],
            str(one.get("branch", "")),
            one["status"],
            one["phase"],
            str(one.get("pid") or "-"),
            str(one.get("url") or one.get("direct_url") or "-"),
            _told(one),
        )
        for one in services
    ]
    head = ("SERVICE", "BRANCH", "STATUS", "PHASE", "PID", "ADDRESS", "")
    return list(columns([head, *rows])) if rows else ["nothing runs"]


def port_lines(services: Iterable[Mapping[str, Any]], checkouts: "Iterable[Checkout]") -> list[str]:
    """Whom the canonical ports of running services lead to, and how one gets them."""
    has = {one.port: one for one in checkouts}
    free: dict[int, tuple[str, list[str]]] = {}
    led: dict[int, str] = {}
    for one in services:
        port = one.get("canonical_port")
        if not port or one["status"] != "running" or one.get("port") == port:
            continue
        if port in has:
            led[port] = led_line(port, has[port].service, has[port].branch)
        else:
            free.setdefault(port, (one["service"], []))[1].append(str(one.get("branch", "")))
    for port, (service, branches) in free.items():
        # What all branches share is checked out with any of them.
        branch = "" if branches[0] == SHARED_BRANCH else f" {branches[0]}"
        led[port] = f"{port} leads to no {service} yet: switchyard checkout{branch}"
    return list(led.values())


def led_line(port: int, service: str, branch: str) -> str:
    """Whom a canonical port leads to."""
    return f"{port} -> {service} of {'all branches' if branch == SHARED_BRANCH else branch}"


def stopped_lines(stopped: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was stopped, and who holds a port of it even so."""
    made: list[str] = []
    for one in stopped:
        made.append(f"stopped {one['service']} of {one['branch']}")
        owner = one.get("port_owner")
        if not one["port_free"]:
            who = f"process {owner['pid']} ({owner['command']})" if owner else "another process"
            made.append(f"warning: its port is held by {who}, which is not ours and was left alone")
    return made
