"""What the names of tools in agent files mean. One table; the page about agents shows it."""

from typing import Literal

from msgspec import Struct

from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.agent import AgentFormat

Toggle = Literal[
    "include_plan_tool",
    "include_apply_patch_tool",
    "include_view_image_tool",
    "tools_web_search_request",
]


class ToolMeaning(Struct, frozen=True, kw_only=True):
    """What one name stands for: a toggle, the terminal, a server, or a thing that is not here."""

    toggle: Toggle | None = None
    # Every engine has a terminal, so there is nothing to switch on.
    is_terminal: bool = False
    # `server::tool`, and the server that is attached for it.
    reference: str = ""
    server: AttachedServer | None = None

    def words(self) -> str:
        """The meaning as people read it."""
        if self.toggle is not None:
            return f"`{self.toggle} = true`"
        if self.server is not None:
            command = " ".join((self.server.command, *self.server.args))
            return f"`{self.reference}`, with the server `{command}`"
        return "the terminal, which every engine has" if self.is_terminal else "stays a bare name"


class MappedTools(Struct, frozen=True, kw_only=True):
    """What the tools of an agent come to."""

    toggles: tuple[Toggle, ...] = ()
    # Names that are the terminal.
    terminal: tuple[str, ...] = ()
    # `server::tool`, which pin a server.
    references: tuple[str, ...] = ()
    # Names that nobody knows here: a server may have a tool of the name.
    bare: tuple[str, ...] = ()
    # Servers that names stand for.
    injected: tuple[AttachedServer, ...] = ()


_PLAN = ToolMeaning(toggle="include_plan_tool")
_PATCH = ToolMeaning(toggle="include_apply_patch_tool")
_IMAGE = ToolMeaning(toggle="include_view_image_tool")
_WEB = ToolMeaning(toggle="tools_web_search_request")
_TERMINAL = ToolMeaning(is_terminal=True)
_NOTHING = ToolMeaning()
_MEMORY = ToolMeaning(
    reference="memory::memory",
    server=AttachedServer(
        name="memory", command="npx", args=("-y", "@modelcontextprotocol/server-memory")
    ),
)


def _each(names: str, meaning: ToolMeaning) -> dict[str, ToolMeaning]:
    return dict.fromkeys(names.split(), meaning)


TOOL_MAP: dict[AgentFormat, dict[str, ToolMeaning]] = {
    "codex": {
        **_each("plan", _PLAN),
        **_each("apply_patch apply-patch", _PATCH),
        **_each("view_image view-image", _IMAGE),
        **_each("web_search web-search", _WEB),
    },
    "anthropic": {
        **_each("Edit MultiEdit Write NotebookEdit", _PATCH),
        **_each("WebSearch WebFetch", _WEB),
        **_each("TodoWrite", _PLAN),
        **_each("Bash Glob Grep Read BashOutput KillBash", _TERMINAL),
    },
    "vscode": {
        **_each("edit new editFiles edit/editFiles", _PATCH),
        **_each("search fetch githubRepo web web/fetch web/githubRepo", _WEB),
        **_each("todo todos", _PLAN),
        **_each("runCommands execute read execute/runInTerminal", _TERMINAL),
        "memory": _MEMORY,
        **_each("usages runTasks notebooks extensions vscodeAPI problems changes", _NOTHING),
        **_each("testFailure openSimpleBrowser", _NOTHING),
    },
}
# Everything, in the words of both vendors.
_ALL = "*"


def map_tools(
    kind: AgentFormat, tools: tuple[str, ...], *, is_on: bool = True, may_inject: bool = True
) -> MappedTools:
    """What the tools of an agent mean.

    With `is_on` false the names of vendors stay what they are; those of our own format never do.
    """
    table = TOOL_MAP[kind] if is_on or kind == "codex" else {}
    toggles: dict[Toggle, None] = {}
    terminal: list[str] = []
    references: list[str] = []
    bare: list[str] = []
    injected: list[AttachedServer] = []
    for written in tools:
        # `Bash(git:*)` is Bash, with a limit that only its vendor keeps.
        name = written.partition("(")[0].strip()
        pinned = pinned_reference(kind, name)
        meaning = table.get(name, _NOTHING)
        if name in ("", _ALL):
            continue
        if pinned:
            references.append(pinned)
        elif meaning.toggle is not None:
            toggles[meaning.toggle] = None
        elif meaning.is_terminal:
            terminal.append(name)
        elif meaning.server is not None and may_inject:
            references.append(meaning.reference)
            injected.append(meaning.server)
        else:
            bare.append(name)
    return MappedTools(
        toggles=tuple(toggles),
        terminal=tuple(dict.fromkeys(terminal)),
        references=tuple(dict.fromkeys(references)),
        bare=tuple(dict.fromkeys(bare)),
        injected=tuple(injected),
    )


def pinned_reference(kind: AgentFormat, name: str) -> str:
    """`server::tool` where a name pins one, in the words of its vendor; else nothing."""
    if "::" in name:
        return name
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return f"{server}::{tool or _ALL}" if server else ""
    if kind == "vscode" and name.endswith("/*"):
        return f"{name[:-2]}::{_ALL}"
    return ""
