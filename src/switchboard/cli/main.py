"""The command line: read the first word, import that verb's module, print what it reports."""

# First, before anything imports msgspec.
from switchboard import fast_import  # noqa: I001 - the order is the point

import os
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from switchboard.cli.crash import save_crash
from switchboard.cli.options import GLOBAL_OPTIONS, PROGRAM
from switchkit.cli.usage import VERSION, Usage, UsageError, read_arguments, split_verb
from switchboard.cli.printer import Printer
from switchboard.cli.report import FAILED, INTERRUPTED, ErrorReport, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.table import VERBS, loaded
from switchboard.config.environ import process_environ
from switchboard.config.problems import ConfigInvalid
from switchboard.ipc.lines import Line
from switchboard.ipc.new_home import told
from switchboard.ipc.paths import home_from
from switchkit.suggest import did_you_mean
from switchboard.core.faults import Fault

_UNDERSTOOD = (UsageError, ConfigInvalid, Fault)


class VerbModule(Protocol):
    """What the module of a verb defines."""

    USAGE: Usage

    def run(self, request: CommandRequest) -> Report:
        """Do it. Raises `UsageError`, `ConfigInvalid` or `Fault`."""
        ...


def main(words: Sequence[str] | None = None, asked: Line | None = None) -> int:
    """Run one command and give its exit code. A person never sees a traceback.

    With a line on which the request of the command was made, its answer is taken from there.
    """
    _fill_closed_streams()
    words = sys.argv[1:] if words is None else words
    environ = process_environ()
    printer = Printer(environ, as_json=_wants_json(words))
    try:
        if not all(word.isascii() or _is_text(word) for word in words):
            raise UsageError("the command line is not UTF-8 text")
        return _run(words, environ, printer, asked)
    except _UNDERSTOOD as error:
        return _explain(error, words, environ, printer)
    except BrokenPipeError:
        return _reader_left()
    except KeyboardInterrupt:
        printer.talk.clear()
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place that can turn it into words
        return printer.show(save_crash(error, words, environ))


def _run(
    words: Sequence[str], environ: dict[str, str], printer: Printer, asked: Line | None
) -> int:
    name, others = split_verb(PROGRAM, words)
    if not name:
        name, others = _verb_for_options(others)
    module = _module(name)
    arguments = read_arguments(PROGRAM, module.USAGE, others)
    if arguments.has("help"):
        module = _module("help")
        arguments = read_arguments(PROGRAM, module.USAGE, [name])
    if home := arguments.one("home"):
        environ["SWITCHBOARD_HOME"] = home
    if skills := arguments.one("skill"):
        environ["SWITCHBOARD_SKILLS"] = skills
    home = home_from(environ)
    had_home = os.path.lexists(home)
    request = CommandRequest(
        arguments=arguments,
        environ=environ,
        talk=printer.talk,
        show=printer.show,
        had_home=had_home,
        asked=asked,
    )
    try:
        return printer.show(module.run(request))
    finally:
        if not had_home and os.path.lexists(home):
            told(home)


def _verb_for_options(options: list[str]) -> tuple[str, list[str]]:
    """What a command line without a verb means."""
    usage = Usage(verb="", summary="", options=(VERSION,))
    given = read_arguments(PROGRAM, usage, options)
    for name, flags in (("version", {"--version", "-V"}), ("help", {"--help", "-h"})):
        if given.has(name):
            return name, [option for option in options if option not in flags]
    return "help", options


def _module(name: str) -> VerbModule:
    verb = VERBS.get(name)
    if verb is None:
        meant = did_you_mean(name, VERBS)
        hint = f"did you mean `switchboard {meant}`?" if meant else "switchboard --help"
        raise UsageError(f"there is no command `{name}`", hint)
    module = cast("VerbModule", loaded(verb.module))
    fast_import.keep_loaded()
    return module


def _explain(
    error: UsageError | ConfigInvalid | Fault,
    words: Sequence[str],
    environ: dict[str, str],
    printer: Printer,
) -> int:
    if isinstance(error, Fault) and error.reason == "unexpected":
        return printer.show(save_crash(error.__cause__ or error, words, environ))
    return printer.show(ErrorReport.of(error))


def _wants_json(words: Sequence[str]) -> bool:
    ours = words[: words.index("--")] if "--" in words else words
    return f"--{GLOBAL_OPTIONS[0].name}" in ours


def _fill_closed_streams() -> None:
    """Some clients start a server with a stream closed; nobody should have to mind.

    In this order, because a file takes the lowest number that is free: later another file, a socket
    perhaps, would be taken for the stream.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - the stubs do not know
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - stays open
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - as above
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as above
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - as above
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as above


def _is_text(word: str) -> bool:
    # Bytes that are no UTF-8 arrive as lone surrogates, which no file and no report can hold.
    return not any("\ud800" <= letter <= "\udfff" for letter in word)


def _reader_left() -> int:
    """Whoever read our stdout has had enough, as `head` does; the interpreter must not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return FAILED
