"""What a tool is, before anyone calls it."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Raw, Struct

from switchboard.core.faults import Fault
from switchboard.core.origins import Origin
from switchboard.core.sessions import Session

# Raises an `invalid_argument` fault when the raw arguments do not fit the tool.
ArgumentsCheck = Callable[[Raw], None]
# How a failure reads that is told as the text of a result.
FaultText = Callable[[Fault], str]
# What else a listing tells one session of a tool. Two that are equal tell everybody the same.
Particulars = Callable[[Session], dict[str, Any]]
# How a tool is described to one session, which is told the same for as long as it lasts.
Wording = Callable[[Session], str]


class Outline(Struct, frozen=True, array_like=True):
    """A tool in a line, as it is known while nobody has to run."""

    name: str
    # `name(path: string, depth?: int)`.
    signature: str
    only_reads: bool = False
    # What a model would read of its whole definition; estimated.
    tokens: int = 0


# The tools behind a tool, as far as they are known when a session begins; the same until it ends.
Behind = Callable[[Session], Sequence[Outline]]


class Effects(Struct, frozen=True, kw_only=True):
    """What a tool may do to the world. `None` means nobody said."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @property
    def only_reads(self) -> bool:
        """Whether it is said to change nothing, and nothing contradicts that."""
        return self.read_only is True and self.destructive is not True


class Policy(Struct, frozen=True, kw_only=True):
    """How a tool is to be run."""

    timeout_s: float | None = None
    # As long as the tool reports progress, it may take up to this.
    longest_s: float | None = None
    # The key of the configuration that gives it more time.
    timeout_key: str = "rpcTimeoutMs"
    # Whether what it prints is passed on while it runs.
    streaming: bool = False
    # Whether its provider finds by itself what the same call has begun when it is sent again.
    knows_repeats: bool = False


class ToolSpec(Struct, frozen=True, kw_only=True, eq=False):
    """One tool of the catalog, or, behind a suite, one tool of a child."""

    name: str
    provider: str
    description: str = ""
    title: str = ""
    input_schema: Raw = Raw(b'{"type":"object"}')
    output_schema: Raw | None = None
    effects: Effects = Effects()
    policy: Policy = Policy()
    origin: Origin = Origin()
    check: ArgumentsCheck | None = None
    # False for what is no tool but passes the same gates: a resource read, a prompt fetched.
    is_tool: bool = True
    # False for one that is found and called, but not listed.
    is_listed: bool = True
    # Whether it is listed whatever that costs: clients are told to use it.
    is_needed: bool = False
    # Whether a listing shows it to this session, where not everybody is shown the same.
    shown_to: Callable[[Session], bool] | None = None
    # How many letters of a result a host is asked to leave in place that puts longer ones into
    # files; 0 asks for nothing.
    most_letters: int = 0
    # Whether a host may keep it back until somebody searches for it.
    can_wait: bool = False
    # Words by which such a search finds it, beside those of its name and description.
    search_hint: str = ""
    particulars: Particulars | None = None
    # In place of the description, where not everybody is told the same.
    wording: Wording | None = None
    # For a tool that stands for others, and is none of those that are called by an address.
    behind: Behind | None = None
    # For a tool whose answers have a shape that its failures keep to.
    fault_text: FaultText | None = None
    # The whole entry of a server's listing, which may say more than the members above.
    listed: Raw | None = None

    def is_shown_to(self, session: Session) -> bool:
        """Whether a listing has it for this session."""
        return self.is_listed and (self.shown_to is None or self.shown_to(session))

    def described_to(self, session: Session) -> str:
        """The description as a listing tells it to a session."""
        return self.description if self.wording is None else self.wording(session)
