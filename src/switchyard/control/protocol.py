"""What a client and a supervisor say to each other: one line of JSON a message.

A client sends one request. The supervisor answers with any number of events, then with one result
or one error. Supervisors outlive upgrades, so a field may be added here, but none may be renamed,
removed, or be required from now on.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, TypeVar

from switchyard.core.decode import decode
from switchyard.core.fault import YardFault, fault_from_json
from switchyard.runtime.service_row import PortOwnerRow, ServiceRow

T = TypeVar("T")


class UpRequest(NamedTuple):
    """Start services of a branch, with the variables of the caller."""

    branch: str | None = None
    services: tuple[str, ...] = ()
    profile: str | None = None
    wait: bool = True
    timeout_s: float | None = None
    env: Mapping[str, str] = {}
    recreate: bool = False


class BranchRequest(NamedTuple):
    """Some services of a branch, or all."""

    branch: str | None = None
    services: tuple[str, ...] = ()


class DownRequest(NamedTuple):
    """Stop services of one branch, or of all branches.

    `keeps_ports`: they start again at once, so their canonical ports stay open.
    """

    branch: str | None = None
    services: tuple[str, ...] = ()
    keeps_ports: bool = False


class CheckoutRequest(BranchRequest):
    """Point the canonical ports at a branch."""


class UncheckoutRequest(BranchRequest):
    """Close the canonical ports of one branch, or all."""


class PingRequest(NamedTuple):
    """Ask how the supervisor is doing. Changes nothing and waits for nobody."""


Request = UpRequest | DownRequest | CheckoutRequest | UncheckoutRequest | PingRequest

_OPERATIONS: dict[str, type[Request]] = {
    "up": UpRequest,
    "down": DownRequest,
    "checkout": CheckoutRequest,
    "uncheckout": UncheckoutRequest,
    "ping": PingRequest,
}
_NAMES = {kind: name for name, kind in _OPERATIONS.items()}


class UpAnswer(TypedDict):
    """What was started, and what ran already."""

    branch: str
    worktree: NotRequired[str]
    profile: NotRequired[str | None]
    services: list[ServiceRow]
    started: list[str]
    already_running: list[str]
    warnings: list[str]


class StoppedRow(TypedDict):
    """How one service ended; `left` are processes that could not be ended.

    `port_owner` is a process that holds its port and is none of its own.
    """

    service: str
    branch: str
    pid: int | None
    forced: bool
    left: list[int]
    port_free: bool
    port_owner: NotRequired[PortOwnerRow]


class DownAnswer(TypedDict):
    """What was stopped."""

    stopped: list[StoppedRow]


class CheckoutRow(TypedDict):
    """A canonical port and its target; `result` says what this request did to it."""

    port: int
    service: str
    branch: str
    branch_slug: str
    host: str
    target_port: int
    result: NotRequired[str]


class CheckoutAnswer(TypedDict):
    """The canonical ports that now point at the branch."""

    branch: str
    checkouts: list[CheckoutRow]
    warnings: NotRequired[list[str]]


class UncheckoutAnswer(TypedDict):
    """The canonical ports that were closed."""

    closed: list[CheckoutRow]


class PingAnswer(TypedDict):
    """How the supervisor is doing. `paused` are ports that take no connections for now.

    `unsaved`: it could not write down what it knows.
    """

    version: str
    pid: int
    tunnels: int
    most_tunnels: int
    paused: list[int]
    faults: int
    unsaved: NotRequired[bool]


Answer = UpAnswer | DownAnswer | CheckoutAnswer | UncheckoutAnswer | PingAnswer


class PhaseEvent(TypedDict):
    """The phase of an awaited service changed."""

    event: Literal["phase"]
    service: str
    phase: str
    waits_for: list[str]
    log: NotRequired[str]
    log_start: NotRequired[int]


class StepEvent(TypedDict):
    """The supervisor passed a point of no return: what it did so far will not be undone."""

    event: Literal["started", "stopped"]


Event = PhaseEvent | StepEvent


def encode_request(request: Request) -> bytes:
    """The request as one line."""
    fields = request._asdict()
    for name in ("recreate", "keeps_ports"):
        if not fields.get(name):
            # Came later; what nobody asked for is not said.
            fields.pop(name, None)
    return _line({"operation": _NAMES[type(request)], **fields})


def decode_request(raw: bytes) -> Request:
    """The request in one line. Raises `YardFault` when the line is not a request."""
    try:
        message: Any = json.loads(raw)
        return decode(_OPERATIONS[decode(str, message["operation"])], message)
    except (ValueError, TypeError, KeyError) as wrong:
        raise YardFault("bad-request", f"this is not a valid request: {wrong}") from None


def encode_event(event: Event) -> bytes:
    """The event as one line."""
    return _line(event)


def encode_answer(answer: Answer) -> bytes:
    """The last line of an exchange that went well."""
    return _line({"result": answer})


def encode_fault(fault: YardFault) -> bytes:
    """The last line of an exchange that failed."""
    return _line({"error": {**fault.as_json(), "exit_code": fault.exit_code}})


def decode_message(raw: bytes) -> tuple[object | None, PhaseEvent | None]:
    """The result in a line from the supervisor, or the phase it reports, or neither.

    Raises `YardFault` when the line is an error.
    """
    message: Any = json.loads(raw)
    if "error" in message:
        raise fault_from_json(message["error"])
    if message.get("event") == "phase":
        return None, decode_answer(PhaseEvent, message)
    return message.get("result"), None


def decode_answer(kind: type[T], result: object) -> T:
    """The result as the answer to a request. Raises `YardFault` when it does not fit."""
    try:
        return decode(kind, result)
    except ValueError as wrong:
        raise YardFault("bad-answer", f"the supervisor's answer is not valid: {wrong}") from None


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"
