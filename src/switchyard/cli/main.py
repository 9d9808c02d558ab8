"""Reads the first word, imports that verb's module and nothing else, and shows its report."""

import gc
import os
import sys

from switchyard.cli.arguments import YardArguments, read_arguments
from switchyard.cli.report import show, show_fault
from switchyard.cli.table import VERBS
from switchyard.core.fault import YardFault

INTERRUPTED = 130


def _wants_json(argv: list[str]) -> bool:
    before = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in before


def _action(argv: list[str]) -> str:
    """What an envelope says was asked for, the same for a failure as for a success."""
    if not argv or argv[0] not in VERBS:
        return "help"
    return ".".join(argv[:2]) if argv[0] == "mcp" and argv[1:2] and argv[1][0] != "-" else argv[0]


def _run(arguments: YardArguments) -> int:
    module = "setup" if arguments.verb == "help" else VERBS[arguments.verb].module
    if arguments.has("all"):
        module = "machine"
    elif arguments.has("attach"):
        module = "foreground"
    # Without `importlib`, which is a module to load of its own.
    verbs = __import__(f"switchyard.cli.verbs.{module}", fromlist=("run",))
    # What is loaded by now stays; only later objects can become garbage.
    gc.freeze()
    gc.enable()
    return show(verbs.run(arguments), as_json=arguments.has("json"))


def main(argv: list[str] | None = None) -> int:
    """Run one command; its exit code."""
    given = sys.argv[1:] if argv is None else argv
    action = _action(given)
    try:
        return _run(read_arguments(given))
    except YardFault as fault:
        return show_fault(fault, action, as_json=_wants_json(given))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; Python must not complain about it on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as wrong:
        told = YardFault(
            "system", f"{wrong.strerror or wrong}: {wrong.filename or ''}".rstrip(": ")
        )
        return show_fault(told, action, as_json=_wants_json(given))
