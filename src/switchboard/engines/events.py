"""What an engine tells of a conversation, in the same words whichever engine it is."""

from typing import Literal

from msgspec import Struct

TurnStatus = Literal["completed", "failed", "interrupted"]
ItemStatus = Literal["started", "completed", "failed", "declined"]
# Why a turn failed. `engines.failures` has a sentence for each.
FailureKind = Literal[
    "engine-missing",
    "engine-version",
    "engine-not-started",
    "engine-crashed",
    "not-logged-in",
    "model-unknown",
    "model-refused",
    "model-unreachable",
    "stream-cut",
    "rate-limited",
    "quota-exceeded",
    "context-overflow",
    "server-missing",
    "sandbox-failed",
    "configuration-refused",
    "workspace-untrusted",
    "empty-answer",
    "other",
]


class TurnFailure(Struct, frozen=True, kw_only=True):
    """Why a turn failed."""

    kind: FailureKind
    # The engine's own words: for the log, never for a client.
    private: str = ""
    http_status: int | None = None


class Opened(Struct, frozen=True, kw_only=True, tag_field="event", tag="opened"):
    """The conversation has begun."""

    # What the engine calls it, so that it can go on later.
    thread_id: str
    model: str = ""


class TextDelta(Struct, frozen=True, kw_only=True, tag_field="event", tag="text-delta"):
    """A piece of a message that is being written."""

    text: str


class AgentMessage(Struct, frozen=True, kw_only=True, tag_field="event", tag="message"):
    """A whole message of the agent. Only the end of the turn says which was the last."""

    text: str


class Reasoning(Struct, frozen=True, kw_only=True, tag_field="event", tag="reasoning"):
    """What the model says of its thoughts."""

    text: str


class CommandItem(Struct, frozen=True, kw_only=True, tag_field="event", tag="command"):
    """A command that the agent runs."""

    id: str
    status: ItemStatus
    command: str
    cwd: str = ""
    exit_status: int | None = None
    output: str = ""


class FileItem(Struct, frozen=True, kw_only=True, tag_field="event", tag="file"):
    """A change of files."""

    id: str
    status: ItemStatus
    paths: tuple[str, ...]
    diff: str = ""


class ToolItem(Struct, frozen=True, kw_only=True, tag_field="event", tag="tool"):
    """A call of a tool, of an MCP server or of the engine itself (`server` is empty)."""

    id: str
    status: ItemStatus
    tool: str
    server: str = ""
    # JSON.
    arguments: str = "{}"


class TokenUsage(Struct, frozen=True, kw_only=True, tag_field="event", tag="usage"):
    """What the conversation has cost so far, as far as the engine tells."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None


class Notice(Struct, frozen=True, kw_only=True, tag_field="event", tag="notice"):
    """A warning, or that the engine tries again. For the log and for who follows the run."""

    text: str
    is_retry: bool = False


class RawItem(Struct, frozen=True, kw_only=True, tag_field="event", tag="raw"):
    """What the engine itself said, for who wants its own words (`codex/event`)."""

    type: str
    # JSON.
    data: str


class Permission(Struct, frozen=True, kw_only=True, tag_field="event", tag="permission"):
    """The agent wants to do what it may not do unasked. The turn waits for `Conversation.answer`.

    Every field says what would really happen, whole: a person decides by it.
    """

    request_id: str
    kind: Literal["command", "patch", "tool", "other"]
    # The exact command line, the names of the files, or `server/tool`.
    subject: str
    cwd: str = ""
    # What it wants, as in `wants to …`, where its kind says too little.
    wants: str = ""
    # The agent's own reason.
    reason: str = ""
    # The command or the patch whole, as text that a person reads; empty for a call of a tool.
    text: str = ""
    # JSON: the whole command, diff or arguments, as it came.
    detail: str = "{}"
    # Names in `detail` of what the text, the folder and the reason say already.
    told: tuple[str, ...] = ()


class Form(Struct, frozen=True, kw_only=True, tag_field="event", tag="form"):
    """A server of the run wants something filled in. The turn waits for `Conversation.answer`."""

    request_id: str
    server: str
    message: str
    # JSON Schema, or empty for a page to visit.
    schema: str = ""
    url: str = ""


class TurnEnded(Struct, frozen=True, kw_only=True, tag_field="event", tag="turn-ended"):
    """The last event of a turn."""

    status: TurnStatus
    # The agent's answer.
    text: str = ""
    failure: TurnFailure | None = None


EngineEvent = (
    Opened
    | TextDelta
    | AgentMessage
    | Reasoning
    | CommandItem
    | FileItem
    | ToolItem
    | TokenUsage
    | Notice
    | RawItem
    | Permission
    | Form
    | TurnEnded
)
