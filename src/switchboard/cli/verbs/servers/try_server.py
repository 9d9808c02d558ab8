"""`switchboard try`: an unknown server, started in a sandbox and looked at, without adding it."""

import asyncio
import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from tempfile import mkdtemp
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from switchboard.approvals.wording.barred import barred, rows_of
from switchboard.approvals.wording.fitting import WIDTH
from switchboard.cli.render import as_json, columns, hint, warning
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.asking import can_ask
from switchboard.cli.verbs.parts.code_roots import code_root, code_roots
from switchboard.cli.verbs.parts.own_board import TerminalAsker, own_caller
from switchboard.cli.verbs.parts.tool_tokens import ENCODING, count_of
from switchboard.config.locate import TRIED_FROM, find_places
from switchboard.control.requests import CallRequest, IntrospectRequest
from switchboard.control.tools import Failure, Subtool
from switchboard.core.bus import EventBus
from switchboard.core.events import EgressRefused, Event
from switchboard.core.faults import Fault
from switchboard.core.network.egress import shown_host
from switchboard.daemon.caller import Caller
from switchboard.settings.load import load_settings
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError
from switchkit.files import remove_tree

_NAME = "tried"
# A name that leads nowhere, by its registration: with it on the list there is a way out, on which
# everything else is refused and noted.
_NOWHERE = "switchboard.invalid"
_HOME = "SWITCHBOARD_HOME"
_SYSTEM = ("/usr/", "/bin/")
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh")

USAGE = Usage(
    verb="try",
    summary="Start an unknown server in a sandbox and look at it, without adding it.",
    rest="COMMAND…",
    options=(
        Option(name="allow", value="HOST", many=True, about="let it reach this host; repeatable"),
        Option(name="env", value="K=V", many=True, about="a variable for it; repeatable"),
        Option(name="read", value="PATH", many=True, about="let it read this; repeatable"),
        Option(name="call", value="TOOL", about="call this tool, too"),
        Option(name="args", value="JSON", about="with these arguments"),
    ),
    details=(
        "The server runs in a sandbox, in an empty folder, without your files, your variables and "
        "your network; it reads the folders of files on its command line, and the packages around "
        "them. You see its tools, what "
        "they say they do, how many tokens they cost, and which hosts it tried to reach. Nothing "
        "of it is kept. What a package runner downloads comes from its registry, which has to be "
        "allowed."
    ),
    examples=(
        "switchboard try -- mcp-server-time",
        "switchboard try --allow api.example.com -- npx -y some-server",
        """switchboard try --call add --args '{"a": 1}' -- ./server""",
    ),
)


class TriedTool(Struct, frozen=True, kw_only=True):
    """One tool, and what it says of itself."""

    name: str
    summary: str
    # `reads`, `writes`, `destroys`, or nothing where it is silent.
    says: str
    tokens: int
    reaches_out: bool = False


class TryReport(Report, frozen=True, kw_only=True, tag="switchboard.try/1"):
    """What was seen of a server."""

    command: tuple[str, ...]
    tools: tuple[TriedTool, ...] = ()
    instructions: str = ""
    tokens: int = 0
    tokenizer: str = ENCODING
    # What it wanted to reach and did not.
    refused: tuple[str, ...] = ()
    result: Any = None
    failure: str = ""
    failure_hint: str = ""

    def exit_code(self) -> int:
        return FAILED if self.failure else DONE

    def lines(self, style: Style) -> Iterator[str]:
        if self.tools:
            rows = [
                (
                    each.name,
                    (each.says or "does not say") + (", reaches out" if each.reaches_out else ""),
                    f"{each.tokens:,}",
                    each.summary,
                )
                for each in self.tools
            ]
            heads = ("TOOL", "SAYS IT", "TOKENS", "SUMMARY")
            yield from columns(heads, rows, style, right=(2,), elastic=(3,))
            yield ""
            yield f"{counted(len(self.tools), 'tool')}, {self.tokens:,} tokens if shown directly"
        if self.instructions:
            yield "it tells models:"
            for line in barred(self.instructions):
                yield from rows_of(line, style.columns or WIDTH)
        if self.result is not None:
            yield as_json(self.result, indent=2)

    def notes(self, style: Style) -> Iterator[str]:
        if self.failure:
            yield f"{style.red('error:')} {self.failure}"
        for host in self.refused:
            yield warning(style, f"it wanted to reach {host}, and could not")
        if self.failure and self.failure_hint:
            yield hint(style, self.failure_hint)
        silent = sum(not each.says for each in self.tools)
        if silent:
            yield f"{counted(silent, 'tool')} of it do not say whether they write: calls will ask"
        if self.tools:
            command = shlex.join(self.command)
            yield hint(style, f"switchboard add NAME --sandbox default -- {command}")


def run(request: CommandRequest) -> Report:
    command = request.arguments.rest
    if not command:
        raise UsageError("`switchboard try` needs a command", "switchboard try -- npx -y NAME")
    call, arguments = request.arguments.one("call"), request.arguments.one("args")
    if arguments and not call:
        raise UsageError("`--args` is for `--call TOOL`")
    folder = mkdtemp(prefix="switchboard-try-")
    try:
        _prepare(request, folder, command)
        return asyncio.run(_tried(request, folder, command, call or "", arguments or "{}"))
    finally:
        # Not as `tempfile` does it: of what a stranger left there it follows links, in some
        # versions of Python, and changes the rights of what they lead to.
        remove_tree(folder)


async def _tried(
    request: CommandRequest, folder: str, command: tuple[str, ...], call: str, arguments: str
) -> Report:
    own = find_places(request.environ, folder, []).home
    environ = {**request.environ, _HOME: os.path.join(folder, "home"), TRIED_FROM: own}
    workspace = os.path.join(folder, "work")
    settings = load_settings(workspace=workspace, environ=environ, flags={}, config=None)
    refused: list[str] = []

    def notice(event: Event, /) -> None:
        if isinstance(event, EgressRefused):
            refused.append(shown_host(event.host, event.port))

    request.talk.progress("starting the server in a sandbox …")
    # As it was started, so that what is added is what was looked at.
    seen = TryReport(command=_words(command))
    async with own_caller(settings, environ, events=EventBus(notice)) as caller:
        try:
            seen = await _seen(seen, caller)
            if call and not seen.failure:
                seen = replace(seen, result=await _called(request, caller, call, arguments))
        except Fault as fault:
            seen = replace(seen, **_failure(Failure.of(fault)))
    return replace(seen, refused=tuple(refused), failure_hint="" if refused else seen.failure_hint)


def _prepare(request: CommandRequest, folder: str, command: tuple[str, ...]) -> None:
    """A home and a workspace of its own, with this server alone."""
    for name in ("home", "work"):
        os.mkdir(os.path.join(folder, name), 0o700)
    with open(os.path.join(folder, "home", "mcp.json"), "w", encoding="utf-8") as file:
        json.dump({"mcpServers": {_NAME: _fields(request, command)}}, file)


def _failure(failure: Failure) -> dict[str, str]:
    details = "".join(f"\n  {each}" for each in failure.details.values())
    return {"failure": failure.message + details, "failure_hint": failure.hint}


def _fields(request: CommandRequest, command: tuple[str, ...]) -> dict[str, Any]:
    words = _words(command)
    program = shutil.which(words[0], path=request.environ.get("PATH")) or words[0]
    named = [word for word in (program, *words[1:]) if os.path.isabs(word)]
    # What the system has itself is there anyway.
    named = [path for path in named if os.path.exists(path) and not path.startswith(_SYSTEM)]
    fields: dict[str, Any] = {
        "command": words[0],
        "args": words[1:],
        "sandbox_profile": "default",
        "egress": [_NOWHERE, *request.arguments.all("allow")],
    }
    home = os.path.expanduser("~")
    roots = {root for path in named for root in code_roots(path, home)}
    if roots := sorted(roots.union(code_root(path, home) for path in _read(request))):
        fields["read_roots"] = roots
    pairs = [each.partition("=") for each in request.arguments.all("env")]
    if pairs:
        fields["env"] = {name: value for name, _, value in pairs}
    return fields


def _words(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with whole paths, for it starts in another folder.

    A plain word is no path, whatever lies in this folder, but for the script of an interpreter.
    """
    is_script = len(command) > 1 and command[1].endswith(_SCRIPTS)
    return tuple(
        os.path.abspath(word)
        if os.path.exists(word) and (os.sep in word or (at == 1 and is_script))
        else word
        for at, word in enumerate(command)
    )


def _read(request: CommandRequest) -> Iterator[str]:
    for path in request.arguments.all("read"):
        if not os.path.exists(path):
            raise UsageError(f"there is no `{path}` to read")
        yield os.path.abspath(path)


async def _seen(report: TryReport, caller: Caller) -> TryReport:
    """What the server says of itself and of its tools."""
    (suite,) = (await caller.introspect(IntrospectRequest(name=_NAME, full=True))).suites
    if suite.failure:
        return replace(report, **_failure(suite.failure))
    if not suite.tools:
        return replace(report, instructions=suite.instructions)
    # By their names, which is how annotations are told.
    names = ",".join(each.name for each in suite.tools)
    whole = IntrospectRequest(name=_NAME, subtool=names, full=True)
    (named,) = (await caller.introspect(whole)).suites
    tools = tuple(map(_tool, named.tools))
    return replace(
        report,
        tools=tools,
        instructions=suite.instructions,
        tokens=sum(each.tokens for each in tools),
    )


def _tool(tool: Subtool) -> TriedTool:
    said: Mapping[str, Any] = {}
    if tool.annotations is not UNSET:
        said = cast("Mapping[str, Any]", msgspec.json.decode(tool.annotations))
    if said.get("readOnlyHint") is True:
        says = "reads"
    elif said.get("destructiveHint") is True:
        says = "destroys"
    elif said.get("readOnlyHint") is False or "destructiveHint" in said:
        says = "writes"
    else:
        says = ""
    return TriedTool(
        name=tool.name,
        summary=tool.summary.partition("\n")[0],
        says=says,
        tokens=count_of(tool),
        reaches_out=said.get("openWorldHint") is True,
    )


async def _called(request: CommandRequest, caller: Caller, tool: str, arguments: str) -> Any:
    try:
        given = json.loads(arguments)
    except ValueError:
        raise UsageError("`--args` is not JSON", """--args '{"key": "value"}'""") from None
    wanted = CallRequest(
        name=_NAME, subtool=tool, arguments=Raw(msgspec.json.encode(given)), asks=can_ask()
    )
    asker = TerminalAsker(request.talk) if can_ask() else None
    answer = await caller.call(wanted, asker=asker)
    return msgspec.json.decode(answer.result)
