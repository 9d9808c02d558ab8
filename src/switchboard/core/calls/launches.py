"""What a call would start or reach, as the provider of its tool knows it right now."""

from msgspec import Struct

from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.origins import Scope


class Wish(Struct, frozen=True, kw_only=True):
    """What an agent is to do, or wants to, in the words in which a person is asked about it."""

    # A sentence without its place: `Agent reviewer wants to run a command`.
    says: str
    # The same within a sentence: `the command`.
    noun: str
    # What it may do, and why somebody has to agree.
    effects: str
    risk: str
    # Words of others, and who says them.
    reason: str = ""
    speaker: str = "The agent says"
    # Whether an engine asks, and does it itself once it may: nothing of it comes through us, and
    # of what it runs in nothing is known.
    is_permission: bool = False
    # The argument that is the thing itself, and shown as text, line by line.
    text: str = ""


def task_wish(who: str, does: str = "do a task", *, text: str = "task", about: str = "") -> Wish:
    """That an agent is to work: who, and what its file says of it."""
    return Wish(
        says=f"{who} is to {does}",
        noun="the task",
        effects="whatever the agent decides",
        risk="an agent decides itself what it runs",
        reason=about,
        speaker="Its file says",
        text=text,
    )


# No link is this.
_NOTHING = object()


class Launch(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that decides what a call can do. Defaults are the worst that can be.

    It is judged, written down and run as it is: a provider does not look anything of it up again.
    """

    # The definition as it is now, which need not be the one that the call was narrowed to.
    tool: ToolSpec
    # The server, or the command tool itself.
    server: str
    # What the server itself calls the tool, where that is another name.
    own_name: str = ""
    # Of everything that decides what is started.
    fingerprint: str
    # The command line, or the address of a remote server.
    runs: str
    # The command line of what its fingerprint says nothing about the files of: they may be those of
    # a repository, which can change them.
    words: tuple[str, ...] = ()
    cwd: str
    # Whether that is a folder which we made for the server, of which nobody knows the name.
    is_own_folder: bool = False
    # Whose login at a remote server it uses, where there are several, and why that one.
    account: str = ""
    account_why: str = ""
    # The worktree that it looks at, where it follows its callers, and why that one.
    worktree: str = ""
    worktree_why: str = ""
    # Whether a server wrote the definition. What the configuration says needs no pin.
    is_foreign: bool = True
    # Variables whose values may be shown, and the names of all others that are set.
    env: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    # Of every variable with its value.
    env_hash: str = ""
    sandbox: str = "none"
    network: bool = True
    # Where that network leads, where it is one of chosen hosts.
    hosts: tuple[str, ...] = ()
    # What its sandbox lets it use at most, in words.
    limits: tuple[str, ...] = ()
    writable_roots: tuple[str, ...] = ()
    # Those among them that the configuration opened beside the working directory, as written.
    opened_roots: tuple[str, ...] = ()
    # What the configuration declares: `filesystem-read`, `filesystem-write`, `network`.
    side_effects: tuple[str, ...] = ()
    # False: what the server says of its own tools counts for nothing.
    trusts_annotations: bool = True
    # Whose file it is from. Rules that name a server are for those of the user alone.
    configured_by: Scope = Scope.WORKSPACE
    # Whether its entry gives a server in a sandbox a network.
    declares_network: bool = False
    # What was configured; `None` when nobody said.
    requires_approval: bool | None = None
    # Who said so. Only the user's own word can lift an approval.
    required_by: Scope = Scope.DEFAULT
    # The running server whose definition was judged: on this one it runs, or not at all. Nothing
    # where nobody judges.
    judged: object = None
    # For what people need other words for than for a tool.
    wish: Wish | None = None

    @property
    def only_reads(self) -> bool:
        """Whether the call changes nothing, as far as whoever says so is believed."""
        if not self.tool.effects.only_reads:
            return False
        return self.trusts_annotations if self.is_foreign else self.sandbox != "none"

    @property
    def env_names(self) -> tuple[str, ...]:
        """Every variable that it is given on top; never their values."""
        return tuple(sorted({*self.env, *self.secrets}))


def nothing_agreed(tool: ToolSpec) -> Launch:
    """What a tool would launch that nobody knows any more: nothing that was agreed to fits it."""
    return Launch(tool=tool, server="", fingerprint="", runs="", cwd="", judged=_NOTHING)
