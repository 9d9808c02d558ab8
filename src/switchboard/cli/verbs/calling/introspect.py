"""`switchboard introspect`: the tools behind one suite, or everything that can be called."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from switchboard.cli.render import as_json, hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.board import ACCOUNT, IN_PROCESS, WORKTREE, ask_board
from switchboard.control.requests import IntrospectRequest
from switchboard.control.tools import IntrospectAnswer, IntrospectedSuite, Subtool
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word

USAGE = Usage(
    verb="introspect",
    summary="Show the tools of a suite, or everything that can be called.",
    words=(
        Word(
            name="SUITE",
            about="a suite, the server behind it, or a tool of no suite; all of them without it",
            optional=True,
        ),
        Word(
            name="TOOL",
            about="show this tool in full; several with commas",
            optional=True,
        ),
    ),
    options=(
        Option(name="full", about="show whole descriptions instead of summaries"),
        ACCOUNT,
        WORKTREE,
        IN_PROCESS,
    ),
    examples=("switchboard introspect", "switchboard introspect notes_suite add_note"),
)


class IntrospectReport(Report, frozen=True, kw_only=True, tag="switchboard.introspect/1"):
    """The suites that were asked, in the order of the configuration."""

    suites: tuple[IntrospectedSuite, ...] = ()
    # Those that are in no suite: command tools, and the tools of the yard.
    tools: tuple[Subtool, ...] = ()
    # The one tool that was asked for.
    tool: str = ""

    def exit_code(self) -> int:
        return FAILED if any(suite.failure for suite in self.suites) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        groups = [(each.suite, each.tools) for each in self.suites if not each.failure]
        groups += [("in no suite", self.tools)] if self.tools else []
        if self.tool:
            for _, tools in groups:
                for tool in tools:
                    yield style.bold(tool.name)
                    yield tool.summary
                    yield as_json(tool.input_schema, indent=2)
            return
        for place, (name, tools) in enumerate(groups):
            if place:
                yield ""
            yield style.bold(name) + style.dim(f"  {counted(len(tools), 'tool')}")
            for tool in tools:
                yield f"  {tool.name}({_parameters(tool.input_schema)})"
                if tool.summary:
                    yield f"      {style.dim(tool.summary)}"

    def notes(self, style: Style) -> Iterator[str]:
        if not self.suites and not self.tools:
            yield "nothing can be called: no server or tool is configured, or none is trusted"
            yield hint(style, "switchboard list")
        for suite in self.suites:
            if suite.failure:
                yield f"{style.red('error:')} {suite.suite}: {suite.failure.message}"
                yield from (f"  {key}: {value}" for key, value in suite.failure.details.items())
                if suite.failure.hint:
                    yield hint(style, suite.failure.hint)


class _Schema(Struct):
    properties: dict[str, Raw] = {}
    required: tuple[str, ...] = ()


class _Parameter(Struct):
    type: str | tuple[str, ...] = "any"


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    chosen = {each: request.arguments.one(each) or "" for each in ("account", "worktree")}
    for option, value in chosen.items():
        if value and not name:
            example = f"switchboard introspect SUITE --{option} {value}"
            raise UsageError(f"`--{option}` needs a `SUITE`", example)
    wanted = IntrospectRequest(
        name=name,
        subtool=request.arguments.word(1),
        **chosen,
        full=request.arguments.has("full"),
    )
    answer = ask_board(request, wanted, IntrospectAnswer)
    return IntrospectReport(suites=answer.suites, tools=answer.tools, tool=answer.tool)


def _parameters(schema: Raw) -> str:
    """The parameters of a tool as a signature; a `?` marks what may be left out."""
    try:
        head = msgspec.json.decode(schema, type=_Schema)
    except msgspec.MsgspecError:
        return "…"
    return ", ".join(
        f"{name}{'' if name in head.required else '?'}: {_type_of(inner)}"
        for name, inner in head.properties.items()
    )


def _type_of(schema: Raw) -> str:
    try:
        kind = msgspec.json.decode(schema, type=_Parameter).type
    except msgspec.MsgspecError:
        return "any"
    return kind if isinstance(kind, str) else "|".join(kind)
