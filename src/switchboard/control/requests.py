"""What a command, or a page, can ask of a daemon. The words are the same on every transport."""

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from switchboard.core.questions import Extent

# The reason of a fault that is a mistake on the command line.
USAGE = "usage"

_NO_ARGUMENTS = Raw(b"{}")


class ControlRequest(Struct, frozen=True, kw_only=True, tag_field="do"):
    """The base of every request; `do` says which it is."""


class StatusRequest(ControlRequest, frozen=True, kw_only=True, tag="status"):
    """The daemon and everything in it."""


class SessionsRequest(ControlRequest, frozen=True, kw_only=True, tag="sessions"):
    """Who is connected."""


class EventsRequest(ControlRequest, frozen=True, kw_only=True, tag="events"):
    """What has happened: how many past events, and whether to stay for those to come."""

    last: int = 0
    follow: bool = False


class ChildRequest(ControlRequest, frozen=True, kw_only=True, tag="child"):
    """Start, stop or restart the children of one server, in one workspace or in all."""

    action: Literal["start", "stop", "restart"]
    name: str
    # With those that all workspaces share.
    workspace: str = ""
    # Refuse while calls are under way, which would end without an answer.
    only_unused: bool = False


class LogsRequest(ControlRequest, frozen=True, kw_only=True, tag="logs"):
    """What one server printed on stderr after a line; waits for more if there is none yet."""

    name: str
    workspace: str
    after: int = 0
    wait_s: float = 0.0


class CallRequest(ControlRequest, frozen=True, kw_only=True, tag="call"):
    """One call: a tool of a suite, or a tool that is in none."""

    # A suite, the server behind it, or a tool that is in none.
    name: str
    subtool: str = ""
    arguments: Raw = _NO_ARGUMENTS
    # Arguments as they were typed, `key=value`, over those: see `typed_arguments`.
    pairs: tuple[str, ...] = ()
    # Whose login at the server is to be used, where there are several.
    account: str = ""
    # The worktree that a server which follows is to look at.
    worktree: str = ""
    # Whether whoever calls can put a question to a person.
    asks: bool = False


class IntrospectRequest(ControlRequest, frozen=True, kw_only=True, tag="introspect"):
    """The tools of one suite, or everything that can be called."""

    name: str = ""
    subtool: str = ""
    account: str = ""
    worktree: str = ""
    full: bool = False


class TokensRequest(ControlRequest, frozen=True, kw_only=True, tag="tokens"):
    """What a model reads of every server, with suites and without."""

    # How long one server is waited for, in seconds; as long as it takes where it is nought.
    patience_s: float = 0.0


class ApprovalsRequest(ControlRequest, frozen=True, kw_only=True, tag="approvals"):
    """What waits for a person: everything, or the one of an id."""

    id: str = ""
    # Those that were decided lately, too.
    everything: bool = False


class DecideRequest(ControlRequest, frozen=True, kw_only=True, tag="decide"):
    """The answer of a person to a question, or about a changed tool."""

    id: str
    approves: bool
    extent: Extent = "once"
    # What was shown to whoever decides; where it is given, the answer counts for nothing else.
    digest: str = ""
    # That a person is there: the code that their terminal showed, for a yes on the page.
    proof: str = ""
    # Only say whether it could be decided so.
    only_check: bool = False


class OfferRequest(ControlRequest, frozen=True, kw_only=True, tag="answer-offer"):
    """The question that a token is for; without one all that wait, each with tokens of its own."""

    token: str = ""


class TokenAnswerRequest(ControlRequest, frozen=True, kw_only=True, tag="answer-token"):
    """The answer that a token is for. A yes is taken from whoever could approve in a terminal."""

    token: str
    # Only if it is for this one.
    approves: bool
    # What was shown, as with `decide`; a yes has to say it.
    digest: str = ""
    # The device that has proven itself to whoever asks.
    device: str = ""

    def __repr__(self) -> str:
        # A token is a secret as long as its question waits.
        return f"TokenAnswerRequest({self.approves})"


class FilterRequest(ControlRequest, frozen=True, kw_only=True):
    """Which records of the audit log are wanted; see `AuditFilter`."""

    tool: str = ""
    session: str = ""
    since: str = ""
    outcome: str = ""


class AuditRequest(FilterRequest, frozen=True, kw_only=True, tag="audit"):
    """The latest records that the fields want, or those of one call or number."""

    which: str = ""
    last: int = 20


class AuditAfterRequest(FilterRequest, frozen=True, kw_only=True, tag="audit-after"):
    """Some of the records after one, oldest first; ask again after the last for more."""

    after: int = 0


class VerifyRequest(ControlRequest, frozen=True, kw_only=True, tag="verify"):
    """Check every record, and with a `hash` that a place noted earlier is still there."""

    seq: int = 0
    hash: str = ""


class RunsRequest(ControlRequest, frozen=True, kw_only=True, tag="runs"):
    """The latest runs of agents, in one workspace or in all."""

    workspace: str = ""
    last: int = 20


class RunEventsRequest(ControlRequest, frozen=True, kw_only=True, tag="run"):
    """One run, and what it did after a line; waits for more if there is none yet."""

    id: str
    after: int = 0
    wait_s: float = 0.0


class RunCancelRequest(ControlRequest, frozen=True, kw_only=True, tag="run-cancel"):
    """End a run and everything that it started."""

    id: str


class RunSteerRequest(ControlRequest, frozen=True, kw_only=True, tag="run-steer"):
    """More input for a run that works."""

    id: str
    text: str


class RunReplyRequest(ControlRequest, frozen=True, kw_only=True, tag="run-reply"):
    """The next task in the conversation of a run that has ended. Whoever has to agree is asked."""

    id: str
    text: str


class EgressRequest(ControlRequest, frozen=True, kw_only=True, tag="egress"):
    """What one server with chosen hosts reached and was refused, or all of them."""

    name: str = ""
    # A host and port that it may be asked about again, although somebody said no.
    forget: str = ""


class CallsRequest(ControlRequest, frozen=True, kw_only=True, tag="calls"):
    """Calls that are under way or have ended lately, the latest ones that the fields want."""

    session: str = ""
    workspace: str = ""
    # A tool or a suite; `*` stands for anything.
    tool: str = ""
    # Only those that have not ended, or whose answers nobody is known to have.
    running: bool = False
    undelivered: bool = False
    # Also those that only the audit log remembers, as after a new daemon has begun.
    past: bool = False
    # Also those by which commands of ours asked suites what they have.
    own: bool = False
    # 0 for all of them.
    last: int = 20


class ResultRequest(ControlRequest, frozen=True, kw_only=True, tag="result"):
    """What became of a call whose client has not got the answer."""

    id: str


class ReportRequest(ControlRequest, frozen=True, kw_only=True, tag="report"):
    """What a command tells about a folder that is served, as its report."""

    report: Literal["usage", "config-show", "config-check", "doctor", "trust"]
    workspace: str
    # Of `usage`.
    days: int = 30


class ServicesRequest(ControlRequest, frozen=True, kw_only=True, tag="services"):
    """What the local runtime tells of services, or does to them; `list` is of all projects."""

    action: Literal["list", "about", "logs", "up", "down", "restart", "checkout", "uncheckout"] = (
        "list"
    )
    # The folder of the project.
    root: str = ""
    branch: str = ""
    # All of the branch where it is empty.
    service: str = ""
    # That a person is there, where it starts something.
    proof: str = ""


class OpenRequest(ControlRequest, frozen=True, kw_only=True, tag="open"):
    """Serve the page, and say how a person gets in."""

    # A code that counts for one yes, too; or nothing else.
    wants_code: bool = True
    only_code: bool = False
    # The code is also for a yes that goes further than one call.
    is_lasting: bool = False


class ReloadRequest(ControlRequest, frozen=True, kw_only=True, tag="reload"):
    """Read the configuration of every board again, now."""


class DrainRequest(ControlRequest, frozen=True, kw_only=True, tag="drain"):
    """Take no client any more, and end with the last one."""

    # Leave the clients that are here to another daemon, each once nothing of it is open.
    hands_back: bool = False


class StopRequest(ControlRequest, frozen=True, kw_only=True, tag="stop"):
    """End every session, and then the daemon."""


class StopCallsRequest(ControlRequest, frozen=True, kw_only=True, tag="stop-calls"):
    """End every call, run of an agent and question; clients and the daemon stay."""

    # The servers as well, which start again when they are needed.
    servers: bool = False


class VaultUnlockRequest(ControlRequest, frozen=True, kw_only=True, tag="vault-unlock"):
    """The key of a vault that is made from a passphrase, to be kept in memory."""

    # Which key it is, as the vault says, and the key itself, in base64.
    id: str
    key: str

    def __repr__(self) -> str:
        # Whatever shows it, in a log or a traceback, shows no key.
        return f"VaultUnlockRequest({self.id})"


class VaultLockRequest(ControlRequest, frozen=True, kw_only=True, tag="vault-lock"):
    """Forget the key again."""


class ListenRequest(ControlRequest, frozen=True, kw_only=True, tag="listen"):
    """Serve HTTP on the socket that comes with this, for whoever shows the token."""

    # As it was asked for; clients may call us by this name.
    host: str
    token: str


AuditQuestion = AuditRequest | AuditAfterRequest | VerifyRequest
RunQuestion = RunsRequest | RunEventsRequest | RunCancelRequest | RunSteerRequest
BoardRequest = CallRequest | IntrospectRequest | TokensRequest
AnyRequest = (
    StatusRequest
    | SessionsRequest
    | EventsRequest
    | ChildRequest
    | LogsRequest
    | CallRequest
    | IntrospectRequest
    | TokensRequest
    | ApprovalsRequest
    | DecideRequest
    | OfferRequest
    | TokenAnswerRequest
    | AuditRequest
    | AuditAfterRequest
    | VerifyRequest
    | RunsRequest
    | RunEventsRequest
    | RunCancelRequest
    | RunSteerRequest
    | RunReplyRequest
    | VaultUnlockRequest
    | VaultLockRequest
    | EgressRequest
    | CallsRequest
    | ResultRequest
    | ReportRequest
    | ServicesRequest
    | OpenRequest
    | ReloadRequest
    | StopCallsRequest
    | DrainRequest
    | StopRequest
)

read_request = msgspec.json.Decoder(AnyRequest).decode
