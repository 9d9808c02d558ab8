"""What can be observed. Events are past tense, frozen, and carry no secret and no payload."""

from msgspec import Struct


class CallStarted(Struct, frozen=True, kw_only=True):
    call_id: str
    session_id: str
    tool: str
    # The version of the protocol that the client speaks, and what it calls itself.
    protocol: str = ""
    client: str = ""
    # Who asks, where people have names; and the trace that the client says the call belongs to.
    person: str = ""
    traceparent: str = ""


class CallNarrowed(Struct, frozen=True, kw_only=True):
    call_id: str
    suite: str
    tool: str


class CallFinished(Struct, frozen=True, kw_only=True):
    call_id: str
    session_id: str
    tool: str
    # "ok", "error" (the tool said so) or the code of a fault.
    outcome: str
    duration_s: float
    # The same, by what it went to: before the work began, the work, persons who were asked.
    queue_s: float = 0.0
    work_s: float = 0.0
    human_s: float = 0.0
    # Whether its answer is followed until the client has it, as it is where the call may write.
    is_followed: bool = False
    reason: str = ""
    private: str = ""
    person: str = ""


class SessionOpened(Struct, frozen=True, kw_only=True):
    session_id: str
    via: str
    person: str = ""


class SessionClosed(Struct, frozen=True, kw_only=True):
    session_id: str
    reason: str = ""


class ChildStarted(Struct, frozen=True, kw_only=True):
    child: str
    pid: int
    protocol: str
    duration_s: float


class ChildExited(Struct, frozen=True, kw_only=True):
    child: str
    pid: int
    reason: str
    expected: bool
    stderr_tail: str = ""


class ChildFailed(Struct, frozen=True, kw_only=True):
    child: str
    reason: str
    message: str


class ChildToolsSkipped(Struct, frozen=True, kw_only=True):
    child: str
    # Where in its listing the tools stood that make no sense.
    positions: tuple[int, ...]
    # The tools of which it says more than anybody could judge.
    oversized: tuple[str, ...] = ()


class ChildTalkedNonsense(Struct, frozen=True, kw_only=True):
    """A server said what is no message of the protocol. Told once for each of its starts."""

    child: str
    what: str


class ChildSetApart(Struct, frozen=True, kw_only=True):
    """A shared server asks questions without saying whom: each session gets one of its own now."""

    child: str
    # What it asked.
    method: str


class ProtectedFilesAppeared(Struct, frozen=True, kw_only=True):
    """What would run something outside of a sandbox later is there since a program ran in one."""

    # The server, or the command tool.
    source: str
    # In the folder where it ran.
    names: tuple[str, ...]
    # Empty for a server, which no call starts or ends.
    call_id: str = ""


class EgressRefused(Struct, frozen=True, kw_only=True):
    """A confined program wanted to reach what is not on its list. Told once for each."""

    # The server, or the command tool.
    server: str
    host: str
    port: int
    reason: str


class NamesClashed(Struct, frozen=True, kw_only=True):
    # Which name, and whose tools want it.
    message: str


class ConfigLoaded(Struct, frozen=True, kw_only=True):
    servers: int
    tools: int
    warnings: tuple[str, ...] = ()
    # What is only worth knowing: a model that goes by another name.
    notices: tuple[str, ...] = ()


class ConfigRejected(Struct, frozen=True, kw_only=True):
    problems: tuple[str, ...]


class AuditFailed(Struct, frozen=True, kw_only=True):
    """The audit log cannot be written. Told once, until it can be again."""

    message: str


class AuditRecovered(Struct, frozen=True, kw_only=True):
    """The audit log was found damaged or can be written again."""

    message: str
    lost: int = 0


class AuditFlooded(Struct, frozen=True, kw_only=True):
    """A session makes the audit log grow unusually fast. Told once for each session."""

    session_id: str
    message: str


class ApprovalAsked(Struct, frozen=True, kw_only=True):
    """A person has to decide whether a call may run."""

    call_id: str
    session_id: str
    tool: str
    approval_id: str
    digest: str
    risk: str
    # Where it is about a host that is not on a list: which one.
    host: str = ""


class ApprovalDecided(Struct, frozen=True, kw_only=True):
    call_id: str
    session_id: str
    tool: str
    approval_id: str
    # Over everything that would run, the arguments among it.
    digest: str
    # "approved", "denied", "expired" or "cancelled".
    outcome: str
    extent: str = ""
    by: str = ""


class NoticeFailed(Struct, frozen=True, kw_only=True):
    """A person could not be told of a question in one of the ways that the home names."""

    # `desktop`, `ntfy`, `webhook` or `command`, and which of `notify` it is, from 1 on. No more of
    # it: an address may be a secret.
    way: str
    number: int
    reason: str
    message: str


class DefinitionHeld(Struct, frozen=True, kw_only=True):
    """A server has changed a tool, which waits until somebody has looked at it."""

    session_id: str
    server: str
    tool: str
    approval_id: str


class RunStarted(Struct, frozen=True, kw_only=True):
    """An agent was given a task, and waits for its turn."""

    run_id: str
    agent: str
    engine: str
    workspace: str


class RunChanged(Struct, frozen=True, kw_only=True):
    run_id: str
    # "working", "asking" or "queued".
    state: str


class RunEnded(Struct, frozen=True, kw_only=True):
    run_id: str
    agent: str
    # "completed", "failed" or "cancelled".
    state: str
    duration_s: float
    reason: str = ""
    private: str = ""


class RunEngineFailed(Struct, frozen=True, kw_only=True):
    """What makes runs last does not work as it should."""

    message: str


class RunUnwritten(Struct, frozen=True, kw_only=True):
    """The end of a run could not be written. Told once; it is tried again."""

    run_id: str
    message: str


class RunWritten(Struct, frozen=True, kw_only=True):
    """The end of a run is on the disk after all."""

    run_id: str


class LoginRenewalFailed(Struct, frozen=True, kw_only=True):
    """The login at a server could not be renewed. Told once, until it works again."""

    server: str
    message: str


class LoginRenewed(Struct, frozen=True, kw_only=True):
    """The login at a server works again."""

    server: str


Event = (
    CallStarted
    | CallNarrowed
    | CallFinished
    | SessionOpened
    | SessionClosed
    | ChildStarted
    | ChildExited
    | ChildFailed
    | ChildToolsSkipped
    | ChildSetApart
    | ChildTalkedNonsense
    | ProtectedFilesAppeared
    | EgressRefused
    | NamesClashed
    | ConfigLoaded
    | ConfigRejected
    | AuditFailed
    | AuditRecovered
    | AuditFlooded
    | ApprovalAsked
    | ApprovalDecided
    | NoticeFailed
    | DefinitionHeld
    | RunStarted
    | RunChanged
    | RunEnded
    | RunEngineFailed
    | RunUnwritten
    | RunWritten
    | LoginRenewalFailed
    | LoginRenewed
)
