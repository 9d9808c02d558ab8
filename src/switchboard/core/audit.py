"""What the audit log remembers of one thing that happened. It holds no payload and no secret."""

import os
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from switchboard.core.calls.call import Call
from switchboard.core.catalog.definition import definition_hash
from switchboard.core.principal import this_user
from switchboard.core.text.stamps import stamp

Decision = Literal["approved", "denied", "expired", "cancelled", "not_required"]


# A client says its own name, and may say as much as it likes.
_MOST_LETTERS = 200


class AuditApproval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How it was decided that something may run."""

    decision: Decision
    id: str = ""
    # How much was agreed to: `once`, `session`, or the changed `definition` of a tool.
    mode: str = ""
    # Who answered: `client`, `cli`, or `trust` for an earlier answer.
    channel: str = ""
    # What was agreed to.
    digest: str = ""
    # The processes of whoever decided in the queue, nearest first.
    chain: str = ""


class AuditMark(Struct, frozen=True, kw_only=True):
    """A place in the log that a record speaks of."""

    seq: int
    hash: str


class AuditAnchor(Struct, frozen=True, kw_only=True):
    """Where another chain of the log was seen to end."""

    chain: str
    seq: int
    hash: str


class AuditKept(Struct, frozen=True, kw_only=True):
    """Records that outlive their segment, and what vouches for them."""

    first: int
    last: int
    records: int
    # Of their hashes, in order.
    hash: str


class AuditRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log. What is not known is left out; adding a field changes no old record."""

    ts: str
    # `tool.call.started`, `tool.call.finished`, `tool.call.refused`, `approval.requested`,
    # `approval.decided`, `audit.recovered` and others of that form.
    event: str
    # The id of the call, which errors show to clients.
    correlation_id: str = ""
    session_id: str = ""
    tool: str = ""
    # A hash with a salt of this installation, so that short arguments cannot be guessed.
    args_sha256: str = ""
    cwd: str = ""
    sandbox_profile: str = ""
    timeout_ms: int | None = None
    approval: AuditApproval | None = None
    started: str = ""
    ended: str = ""
    # Where its time went: before the work began, the work, persons who were asked.
    queue_ms: int | None = None
    work_ms: int | None = None
    human_ms: int | None = None
    # `ok`, `tool_error`, or the code of a fault.
    status: str = ""
    exit_status: int | None = None
    bytes_stdout: int | None = None
    bytes_stderr: int | None = None
    bytes_result: int | None = None
    # What a model wrote for the call, and what it reads of the answer; estimated.
    tokens_args: int | None = None
    tokens_result: int | None = None
    reason: str = ""
    # The suite that the call came through, and who runs the tool.
    via: str = ""
    provider: str = ""
    side_effects: bool | None = None
    # Names that the tool's schema declares, with the kinds of their values.
    args_shape: str = ""
    client: str = ""
    # Who called, where many people share one Switchboard: as their issuer knows them, and as they
    # are called.
    person: str = ""
    person_name: str = ""
    # The agent and the run that the client does its part of.
    on_behalf_of: str = ""
    transport: str = ""
    protocol_version: str = ""
    workspace: str = ""
    server: str = ""
    # Whose login at the server was used, where there are several.
    account: str = ""
    launch_fingerprint: str = ""
    tool_def_hash: str = ""
    env_names: tuple[str, ...] = ()
    network: bool | None = None
    redactions: int | None = None
    # The user that it ran as, and whether that is root: with its rights, unless a sandbox is named.
    principal: str = ""
    uid0: bool = False
    # The process that wrote the record.
    pid: int = 0
    # Where the log was cut: on purpose, for its size, or by somebody else.
    mark: AuditMark | None = None
    # What is kept of segments that were given up, and the last kept record that was given up too.
    kept: tuple[AuditKept, ...] = ()
    kept_after: int = 0
    # Of a log in several chains: where the others ended when this was written.
    anchors: tuple[AuditAnchor, ...] = ()
    # What Switchboard has to say, in its own words.
    note: str = ""


class AuditRow(Struct, frozen=True):
    """One record as it is stored."""

    seq: int
    call: str
    body: bytes
    prev: bytes
    hash: bytes
    seal: bytes | None = None


FindingKind = Literal[
    "edited",
    "missing",
    "replaced",
    "seal-invalid",
    "unsealed",
    "truncated",
    "head-missing",
    "head-forged",
    "key-missing",
    "unreadable",
    "unguarded",
    "recovered",
    "unexpected",
]


class VerificationFinding(Struct, frozen=True, kw_only=True):
    """Something that is wrong, and where: the number of a record, or 0 for the log as a whole."""

    kind: FindingKind
    seq: int
    says: str


class Verification(Struct, frozen=True, kw_only=True):
    """What was found."""

    records: int
    segments: int
    first: int
    last: int
    # The hash of the last record: note it elsewhere, and `expect` finds out a log that was rolled
    # back as a whole.
    hash: str
    # Records that were on disk when a process was killed, before it came to the head.
    ahead: int = 0
    lost: int = 0
    # Older ones that are kept of segments which were given up.
    kept: int = 0
    findings: tuple[VerificationFinding, ...] = ()
    # More than are listed.
    more: int = 0

    @property
    def is_whole(self) -> bool:
        return not self.findings


def new_record(event: str, *, now: int | None = None, **more: Any) -> AuditRecord:
    """The record of an event: when it happened, and who we are. `now` is as `stamp` takes it."""
    return _record(event, now, more)


def _record(event: str, now: int | None, more: dict[str, Any]) -> AuditRecord:
    principal, is_root = _whoever_writes()
    more.setdefault("uid0", is_root)
    if "ts" not in more:
        more["ts"] = stamp(now)
    more["event"], more["principal"], more["pid"] = event, principal, os.getpid()
    return AuditRecord(**more)


@cache
def _whoever_writes() -> tuple[str, bool]:
    user = this_user()
    return str(user), user.is_root


def call_record(event: str, call: Call, *, now: int | None = None, **more: Any) -> AuditRecord:
    """The record of what happens to a call, with everything that its launch says."""
    return call_record_with(event, call, now, more)


def call_record_with(
    event: str, call: Call, now: int | None, more: dict[str, Any], /
) -> AuditRecord:
    """The same with members that nobody else has: they are not copied."""
    session, launch = call.session, call.launch
    about: dict[str, Any] = {
        "correlation_id": call.id,
        "session_id": session.id,
        "tool": call.tool.name,
        "via": call.via.name if call.via is not None else "",
        "provider": call.tool.provider,
        "client": session.client[:_MOST_LETTERS],
        "on_behalf_of": session.acts_for[:_MOST_LETTERS],
        "transport": session.via,
        "protocol_version": session.protocol,
        "workspace": session.workspace,
    }
    if session.person is not None:
        about |= {"person": session.person.subject, "person_name": session.person.name}
    if session.account is not None:
        about["account"] = session.account.name
    if launch is not None:
        about["cwd"] = launch.cwd
        about["sandbox_profile"] = launch.sandbox
        about["server"] = launch.server
        about["launch_fingerprint"] = launch.fingerprint
        about["tool_def_hash"] = definition_hash(launch.tool)
        about["env_names"] = launch.env_names
        about["network"] = launch.network
    about.update(more)
    return _record(event, now, about)


def appeared_note(names: tuple[str, ...]) -> str:
    """What a record says of protected files that are there since something ran."""
    return f"protected files appeared: {', '.join(names)}" if names else ""
