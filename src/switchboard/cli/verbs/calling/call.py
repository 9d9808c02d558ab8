"""`switchboard call`: one call, through the gates that a client's call passes."""

import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.asking import can_ask
from switchboard.cli.verbs.parts.board import ACCOUNT, IN_PROCESS, WORKTREE, ask_board
from switchboard.cli.verbs.parts.calls.result_text import read_result
from switchboard.control.requests import CallRequest
from switchboard.control.tools import CallAnswer
from switchkit.cli.style import Style
from switchkit.cli.usage import Arguments, Option, Usage, UsageError, Word

USAGE = Usage(
    verb="call",
    summary="Call a tool and print what it answers.",
    words=(
        Word(name="SUITE", about="a suite, the server behind it, or a tool of no suite"),
        Word(name="TOOL", about="one of the suite's tools", optional=True),
        Word(
            name="KEY=VALUE",
            about="an argument, read as the tool's schema says; KEY:=JSON is taken as JSON",
            optional=True,
            many=True,
        ),
    ),
    options=(
        Option(
            name="args",
            value="JSON",
            about="the arguments: a JSON object, `@file`, or `-` for stdin",
        ),
        ACCOUNT,
        WORKTREE,
        IN_PROCESS,
    ),
    details="The exit code is 1 when the tool says that it failed.",
    examples=(
        "switchboard call calc_suite add numbers=19 numbers=23",
        "switchboard call notes_suite find text='to do' limit=5 'tags:=[\"home\"]'",
        "switchboard call calc_suite add --args '{\"numbers\": [19, 23]}'",
        "switchboard call notes_suite add_note --args @note.json",
        'switchboard call search --args \'{"pattern": "TODO"}\'',
    ),
)


class CallReport(Report, frozen=True, kw_only=True, tag="switchboard.call/1"):
    """What the tool answered, unchanged."""

    is_data: ClassVar[bool] = True

    # Empty for a tool that is in none.
    suite: str
    tool: str
    is_error: bool
    result: Raw
    # Finds the call with `switchboard audit show`.
    call_id: str = ""

    def exit_code(self) -> int:
        return FAILED if self.is_error else DONE

    def lines(self, style: Style) -> Iterator[str]:
        if not self.is_error:
            yield from read_result(self.result).lines(style)

    def notes(self, style: Style) -> Iterator[str]:
        if self.is_error:
            text = "\n".join(read_result(self.result).blocks(style))
            yield f"{style.red('error:')} `{self.tool}` failed: {text}"


def run(request: CommandRequest) -> Report:
    wanted = request_of(request.arguments)
    answer = ask_board(request, wanted, CallAnswer)
    return report_of(answer)


def request_of(arguments: Arguments) -> CallRequest:
    """The request that a command line means. Raises `UsageError`."""
    name, *others = arguments.words
    # No tool has `=` in its name.
    subtool = others.pop(0) if others and "=" not in others[0] else ""
    for word in others:
        if "=" not in word:
            raise UsageError(f"`{word}` is not an argument", "write it as `key=value`")
    return CallRequest(
        name=name,
        subtool=subtool,
        pairs=tuple(others),
        arguments=_arguments(arguments.one("args")),
        account=arguments.one("account") or "",
        worktree=arguments.one("worktree") or "",
        asks=can_ask(),
    )


def report_of(answer: CallAnswer) -> CallReport:
    """An answer as it is told."""
    return CallReport(
        suite=answer.suite,
        tool=answer.tool,
        is_error=read_result(answer.result).is_error,
        result=answer.result,
        call_id=answer.call_id,
    )


def _arguments(given: str | None) -> Raw:
    if given is None:
        return Raw(b"{}")
    text = _text_of(given)
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"`--args` is not JSON: {error}", """--args '{"name": "value"}'"""
        ) from None
    if not isinstance(value, dict):
        raise UsageError("`--args` must be a JSON object", """--args '{"name": "value"}'""")
    raw = text.encode()
    # A server that reads lines takes the first one for the whole message.
    return Raw(msgspec.json.format(raw, indent=-1) if b"\n" in raw else raw)


def _text_of(given: str) -> str:
    try:
        if given == "-":
            return sys.stdin.read()
        if given.startswith("@"):
            with open(given[1:], encoding="utf-8") as file:
                return file.read()
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise UsageError(f"`{given[1:] or 'stdin'}` cannot be read: {why}") from None
    except UnicodeDecodeError:
        raise UsageError(f"`{given}` is not UTF-8 text") from None
    return given
