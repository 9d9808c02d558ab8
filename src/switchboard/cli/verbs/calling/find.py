"""`switchboard find`: the tools that do what somebody has in mind, whichever server has them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
from msgspec import Struct

from switchboard.cli.render import hint
from switchboard.cli.report import DONE, FAILED, Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.board import IN_PROCESS, ask_board
from switchboard.control.requests import IntrospectRequest
from switchboard.control.tools import IntrospectAnswer, Subtool
from switchboard.core.catalog.addresses import server_of
from switchboard.search.finder import Finder, Findings, FoundTool, Scored
from switchboard.search.signature import parameter_docs, signature
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word

_MOST = 100
_RANKED = 10

USAGE = Usage(
    verb="find",
    summary="Find the tools that do what you have in mind.",
    words=(
        Word(name="QUERY", about="what the tool should do, or its name", optional=True, many=True),
    ),
    options=(
        Option(name="server", value="NAME", about="only among the tools of this server"),
        Option(name="limit", value="N", about="how many at most; two to eight by score without it"),
        Option(name="catalogue", value="FILE", about="search the tools of this JSON file instead"),
        Option(name="batch", about="read queries from stdin, one JSON object a line"),
        IN_PROCESS,
    ),
    details=(
        "Every server is asked for its tools. Words are compared with names, servers,\n"
        "descriptions and parameters; forms of one word and words of one meaning count as the\n"
        "same. The name of a tool finds that tool first.\n"
        "A catalogue is an object with `tools`: `server`, `name`, `description` and\n"
        "`inputSchema` of each.\n"
        '`--batch` answers each line `{"query": …}` with one line, as `--json` has it.'
    ),
    examples=(
        "switchboard find create an issue",
        "switchboard find --server github --limit 3 labels",
    ),
)


class FoundEntry(Struct, frozen=True, kw_only=True):
    """One tool that fits."""

    server: str
    name: str
    score: float
    signature: str
    description: str = ""


class FindReport(Report, frozen=True, kw_only=True, tag="switchboard.find/1"):
    """The tools that fit, the best first."""

    query: str
    results: tuple[FoundEntry, ...] = ()
    # What the parameters of the first are for, if nothing else comes near it.
    parameters: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def exit_code(self) -> int:
        return DONE if self.results else FAILED

    def lines(self, style: Style) -> Iterator[str]:
        for place, each in enumerate(self.results):
            yield style.bold(each.signature)
            if each.description:
                yield f"    {style.dim(each.description)}"
            if place == 0:
                yield from (f"    {style.dim(line)}" for line in self.parameters)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.results:
            known = ", ".join(self.servers) or "none"
            yield f"no tool matches; servers that were searched: {known}"
            yield hint(style, "switchboard introspect")
        for server in self.failed:
            yield f"{style.yellow('warning:')} {server} could not be asked for its tools"
            yield hint(style, "switchboard doctor --deep")


class RankedEntry(Struct, frozen=True):
    server: str
    name: str
    score: float


class RankedReport(Report, frozen=True, kw_only=True, tag="switchboard.ranked/1"):
    """The answer to one line of a batch."""

    one_of_many: ClassVar[bool] = True
    query: str
    results: tuple[RankedEntry, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        yield style.bold(self.query)
        for each in self.results:
            yield f"  {each.score:6.2f}  {each.server}.{each.name}"


class _CatalogueTool(Struct, rename="camel"):
    server: str
    name: str
    description: str | None = None
    input_schema: Any = None

    def found(self) -> FoundTool:
        return _found(self.server, self.name, self.description or "", self.input_schema)


class _Catalogue(Struct):
    tools: list[_CatalogueTool]
    # What servers say of themselves, where the file knows it.
    servers: dict[str, str] = {}


class _Query(Struct):
    query: str
    k: int = _RANKED


class _Searchable(Struct):
    finder: Finder
    servers: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def run(request: CommandRequest) -> Report:
    arguments = request.arguments
    limit = _limit(arguments.one("limit"))
    query = " ".join(arguments.words)
    is_batch = arguments.has("batch")
    if bool(query.strip()) == is_batch:
        raise UsageError(
            "`--batch` reads queries from stdin, so none is typed"
            if is_batch
            else "`find` needs a `QUERY`: what the tool should do, or its name",
            "switchboard find create an issue",
        )
    path = arguments.one("catalogue")
    searched = _from_file(path) if path else _from_board(request)
    if is_batch:
        return _answer_lines(request, searched.finder)
    server = arguments.one("server") or ""
    return _report(query, searched.finder.find(query, server, limit), searched)


def _answer_lines(request: CommandRequest, finder: Finder) -> Report:
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            asked = msgspec.json.decode(line, type=_Query)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise UsageError(
                f"line {number} of stdin is no query: {error}", 'write {"query": "…"} on each line'
            ) from None
        ranked = finder.ranked(asked.query, max(0, min(asked.k, _MOST)))
        request.show(RankedReport(query=asked.query, results=tuple(map(_entry, ranked))))
    return Silent()


def _entry(scored: Scored) -> RankedEntry:
    return RankedEntry(scored.tool.server, scored.tool.name, round(scored.score, 4))


def _report(query: str, findings: Findings, searched: _Searchable) -> Report:
    results = tuple(
        FoundEntry(
            server=each.tool.server,
            name=each.tool.name,
            score=round(each.score, 4),
            signature=signature(each.tool.address, each.tool.input_schema),
            description=each.tool.description,
        )
        for each in findings.found
    )
    docs = parameter_docs(findings.found[0].tool.input_schema) if findings.is_sure else []
    return FindReport(
        query=query,
        results=results,
        parameters=tuple(docs),
        servers=searched.servers,
        failed=searched.failed,
    )


def _from_board(request: CommandRequest) -> _Searchable:
    answer = ask_board(request, IntrospectRequest(name=""), IntrospectAnswer)
    asked = [suite for suite in answer.suites if suite.failure is None]
    tools = [_of_server(server_of(suite.suite), tool) for suite in asked for tool in suite.tools]
    tools += [_of_server("", tool) for tool in answer.tools]
    return _Searchable(
        Finder(tools, {server_of(suite.suite): suite.instructions for suite in asked}),
        servers=tuple(server_of(suite.suite) for suite in asked),
        failed=tuple(server_of(suite.suite) for suite in answer.suites if suite.failure),
    )


def _of_server(server: str, tool: Subtool) -> FoundTool:
    return _found(server, tool.name, tool.summary, msgspec.json.decode(tool.input_schema))


def _from_file(path: str) -> _Searchable:
    try:
        catalogue = msgspec.json.decode(Path(path).read_bytes(), type=_Catalogue)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(
            f"`{path}` is no catalogue: {error}",
            'it holds {"tools": [{"server": …, "name": …, "description": …, "inputSchema": …}]}',
        ) from None
    tools = [tool.found() for tool in catalogue.tools]
    servers = tuple(dict.fromkeys(tool.server for tool in tools))
    return _Searchable(Finder(tools, catalogue.servers), servers=servers)


def _found(server: str, name: str, description: str, schema: object) -> FoundTool:
    members = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    return FoundTool(server, name, description, members)


def _limit(text: str | None) -> int:
    if text is None:
        return 0
    if not text.isdigit() or not 0 < int(text) <= _MOST:
        raise UsageError(f"`--limit` must be a whole number from 1 to {_MOST}")
    return int(text)
