"""A question to a person before something runs, and what comes of it."""

from typing import Literal, Protocol

from msgspec import Struct

Verdict = Literal["approved", "denied", "cancelled", "expired"]
# How long an answer holds: for this call, for every call of this tool until the session ends, or
# for good, where a host is asked about or a lasting rule may stand.
Extent = Literal["once", "session", "always"]
RiskLevel = Literal["low", "medium", "high"]
# Who decided when the client put it to its user, or left before anybody had.
BY_CLIENT = "client"
# The same when an approval was used by another call, which came first.
USED = "use"
# The same when nobody decided, and the client had answered without asking its user.
UNATTENDED = "unattended"
# The same when the client failed to put it to its user.
UNSHOWN = "client-failed"


# The session of a question about a host, before the name of who wants to reach it.
HOST_SESSION = "egress:"

# What every question begins with that a client is to show its user.
ASKING = "Switchboard asks: "
# What stands before the command that shows all of it: alone in its line, or after what is unusual.
ALL_OF_IT = "All of it: "
BETWEEN = " · "


class Risk(Struct, frozen=True, kw_only=True):
    """How much harm a call could do, and why we think so.

    The level is a word for people. Whether somebody has to be asked does not hang on it.
    """

    level: RiskLevel
    reasons: tuple[str, ...] = ()
    # Whether a person has to agree whatever the configuration says.
    must_ask: bool = True


class Facts(Struct, frozen=True, kw_only=True):
    """What we know ourselves of what would run. Nothing of it was written by the tool's server."""

    server: str
    # The command line, or the address of a remote server.
    runs: str
    # Whose login at the server it uses, where there are several, and why that one.
    account: str = ""
    account_why: str = ""
    # The worktree that it looks at, where it follows its callers, and why that one.
    worktree: str = ""
    worktree_why: str = ""
    # Where, with every link followed.
    cwd: str
    # Whether that is a folder which we made for the server, of which nobody knows the name.
    is_own_folder: bool = False
    # Variables whose values may be seen, and the names of those whose values may not.
    env: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    # The same in a word or two, as a question begins: `WRITES`.
    does: str = ""
    sandbox: str = "none"
    network: bool = True
    # Where that network leads, where it is one of chosen hosts.
    hosts: tuple[str, ...] = ()
    # What its sandbox lets it use at most, in words.
    limits: tuple[str, ...] = ()
    # Whether it runs as root.
    uid0: bool = False
    writable: tuple[str, ...] = ()
    # Paths among the arguments that lead elsewhere, as `path -> where it leads`.
    links: tuple[str, ...] = ()
    # Paths among them that are outside of the folder and of the workspace.
    outside: tuple[str, ...] = ()
    # Tools of the open world whose results this session has read.
    tainted_by: tuple[str, ...] = ()
    # Whether such a result ended an answer that was given for the session.
    has_lapsed: bool = False


class Question(Struct, frozen=True, kw_only=True):
    """Everything that a person needs to decide, already cleaned and without secrets."""

    id: str
    # Binds the answer to exactly what would run; what is agreed to is this and nothing else.
    digest: str
    session_id: str
    # Where it came in, for clients that choose their name and number of sessions themselves: one
    # token and address. Empty for those that were attached here.
    entrance: str = ""
    # Whose call it is, where people are told apart, and the groups that they are in. Empty for what
    # is nobody's in particular.
    person: str = ""
    groups: tuple[str, ...] = ()
    call_id: str
    tool: str
    suite: str = ""
    # What an agent is to do or wants to, as a sentence; empty for a call of a tool.
    wish: str = ""
    # Whether an engine asks for it, which knows itself what it runs in.
    is_permission: bool = False
    # That thing itself, whole: the task, the command, or the patch.
    exactly: str = ""
    # The sentence from which a model chose this call; empty where the client chose it.
    chosen_for: str = ""
    title: str = ""
    workspace: str = ""
    # The client that wants the call, in its own words.
    client: str = ""
    facts: Facts
    risk: Risk
    # What the server says of its tool, or somebody else of what is wanted.
    description: str = ""
    speaker: str = "The server says"
    # What its server has changed of it since it was last agreed to, as lines with `+` and `-`.
    changes: tuple[str, ...] = ()
    # JSON, with secrets taken out.
    arguments: str = "{}"
    # The same whole in one line, where it is no long one.
    in_line: str = ""
    # The same in one row of a narrow terminal, and whether nothing is left out of it.
    brief: str = ""
    brief_is_whole: bool = True
    # What of them is part of an earlier result, and of whose; below it what was changed of that.
    sources: tuple[str, ...] = ()
    # The places of those that are taken out because the tool marks them as secrets.
    hidden: tuple[str, ...] = ()
    offers: tuple[Extent, ...] = ("once",)
    # Why `always` is not among them; empty where it is.
    why_not_always: str = ""
    # The whole question as plain text, for askers that can show text only.
    prompt: str = ""
    asked_at: float
    expires_at: float
    # How long the one who asks can be kept waiting.
    patience_s: float = 0.0
    # The process of the asking client, if known, and when it began in the kernel's count: it may
    # not answer its own question.
    client_pid: int = 0
    client_began: int = 0
    # Those on whose behalf it asks, each with its number and when it began: as little may they.
    principals: tuple[tuple[int, int], ...] = ()

    @property
    def host(self) -> str:
        """The host that is asked about, where it is about one."""
        return self.exactly if self.session_id.startswith(HOST_SESSION) else ""

    @property
    def shown_by(self) -> str:
        """The command that shows all of it."""
        return f"switchboard approvals show {self.id}"


class Answer(Struct, frozen=True, kw_only=True):
    """What a person decided, or that nobody did."""

    verdict: Verdict
    extent: Extent = "once"
    # The way it came: `client`, `cli` or another.
    by: str
    at: float
    # The processes of whoever decided in the queue, nearest first; or who it was, where people are
    # told apart.
    chain: str = ""


class Approval(Struct, frozen=True, kw_only=True):
    """That a call may run, and whose word that is. A call without one needed none."""

    id: str
    # What was agreed to.
    digest: str
    mode: Extent
    # `client`, `cli`, `trust` for a call that an earlier answer of the session covers, or `rule`.
    channel: str


class Asker(Protocol):
    """One way to ask a person."""

    async def ask(self, question: Question, /) -> Answer | None:
        """Ask, and wait no longer than the question allows.

        Nothing when a program has answered that asked nobody. Raises a fault when the answer has
        to be fetched later.
        """
        ...
