"""What a verb returns, and how it is shown: text for people, one envelope for machines."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from switchkit.cli.columns import columns
from switchyard.core.fault import YardFault


class YardReport(NamedTuple):
    """The outcome of a verb. `lines` may be endless; `data` is what `--json` shows."""

    action: str
    data: Mapping[str, Any]
    lines: Iterable[str] = ()
    exit_code: int = 0


def _put(text: str) -> None:
    sys.stdout.write(text + "\n")


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
        for line in report.lines:
            _put(line)
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
    sys.stderr.write(f"error: {fault.message}\n")
    lines: list[str] = fault.details.get("log_tail") or fault.details.get("output") or []
    for line in lines:
        sys.stderr.write(f"  | {line}\n")
    if fault.hint:
        sys.stderr.write(f"\nhint: {fault.hint}\n")
    return fault.exit_code


def say(text: str) -> None:
    """Print a line to stderr, unless the output is JSON."""
    if sys.stderr.isatty():
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


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
            str(one.get("reason") or ""),
        )
        for one in services
    ]
    head = ("SERVICE", "BRANCH", "STATUS", "PHASE", "PID", "ADDRESS", "")
    return list(columns([head, *rows])) if rows else ["nothing runs"]
