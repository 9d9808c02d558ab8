"""`up --attach`: a start in the foreground, with the output of every service as it comes."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from switchkit.cli.style import Style, safe_for_terminals, style_for
from switchkit.cli.typed import ask_at_terminal, typed_line
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport, stopped_lines
from switchyard.cli.verbs.runtime import branch_and_services, timeout_of
from switchyard.config.graph import closure
from switchyard.control.actions import down, up
from switchyard.control.protocol import PhaseEvent, UpAnswer
from switchyard.core.fault import YardFault
from switchyard.project.configuration import config_for
from switchyard.project.home import default_home
from switchyard.project.scope import ProjectScope, Target, locate
from switchyard.queries.services import status
from switchyard.runtime.launch import target_of
from switchyard.runtime.log.lines import Sift, follow

_LOOK_S = 1.0
_CHOICES = ("s", "l", "c")
_QUESTION = "\n[s]top the services, [l]eave them running, or [c]ontinue? "


class _Start:
    """A start under way, and what is known of it."""

    def __init__(self, scope: ProjectScope, target: Target, arguments: YardArguments) -> None:
        self.scope, self.target = scope, target
        _, self._services = branch_and_services(scope, arguments)
        self._arguments = arguments
        config = config_for(scope, target)
        self.sift = Sift(redact=config.logs.redact)
        # Known before anything is printed, so that nothing old is shown and nothing new missed.
        self.logs = {
            scope.places.log(target_of(config.services[name], target, config.root).slug, name): name
            for name in closure(config.services, self._services or config.services)
        }
        # What ran before is not to be stopped because something else does not start.
        self._ran = {
            one["service"]
            for one in status(scope, target.branch)["services"]
            if one["status"] == "running"
        }
        self.seen: dict[Path, int] = {}
        self._told: dict[str, str] = {}
        self._news: list[str] = []
        self.answer: UpAnswer | None = None
        self.fault: YardFault | None = None
        self._looked = time.monotonic()
        self._thread = threading.Thread(target=self._up, daemon=True)
        self._thread.start()

    def _up(self) -> None:
        try:
            self.answer = up(
                self.scope,
                branch=self.target.branch,
                services=self._services,
                profile=self._arguments.value("profile"),
                timeout_s=timeout_of(self._arguments),
                recreate=self._arguments.has("recreate"),
                env=os.environ,
                listen=self._hear,
            )
        except YardFault as fault:
            self.fault = fault

    def _hear(self, event: PhaseEvent) -> None:
        waits = event["phase"] == "waiting" and event["waits_for"]
        told = f"waits for {', '.join(event['waits_for'])}" if waits else event["phase"]
        # Servers of resources are awaited twice.
        if self._told.get(event["service"]) != told:
            self._told[event["service"]] = told
            self._news.append(safe_for_terminals(f"{event['service']}: {told}"))

    def news(self) -> list[str]:
        """What was heard since the last time."""
        heard, self._news = self._news, []
        return heard

    def to_stop(self) -> list[str]:
        """The services that end with this command: its own, or after a failure the new ones."""
        return sorted(set(self.logs.values()) - (self._ran if self.fault else set()))

    def is_over(self) -> bool:
        """Whether there is nothing more to come: it failed, or everything has ended."""
        if self.fault:
            return True
        if self.answer is None or time.monotonic() - self._looked < _LOOK_S:
            return False
        self._looked = time.monotonic()
        rows = status(self.scope, self.target.branch)["services"]
        return not any(one["status"] == "running" for one in rows)


def _painter(style: Style, names: Iterable[str]) -> Callable[[str, str], str]:
    """Puts the name of a service before a line, each in a colour of its own."""
    colours = (style.cyan, style.green, style.yellow, style.bold, style.red)
    # A name is what the project calls it, and may hold anything.
    safe = {name: safe_for_terminals(name) for name in names}
    width = max(map(len, safe.values()))
    numbers = {name: number for number, name in enumerate(safe)}

    def paint(name: str, line: str) -> str:
        head = f"{safe[name]:{width}} |"
        return f"{colours[numbers[name] % len(colours)](head)} {line}"

    return paint


def _show(start: _Start) -> None:
    """Print what services print, until there is nothing more to come."""
    style = style_for(sys.stdout, os.environ)
    paint = _painter(style, start.logs.values())

    def ends() -> bool:
        for told in start.news():
            sys.stderr.write(f"{style.dim(told)}\n")
        sys.stderr.flush()
        return start.is_over()

    for path, line in follow(lambda: list(start.logs), start.sift, ends=ends, seen=start.seen):
        shown = paint(start.logs[path], safe_for_terminals(line))
        sys.stdout.write(f"{shown}\n")
        sys.stdout.flush()


def _choice() -> str:
    """What is to happen to the services; without a terminal they end with this command.

    Ctrl-C once more means to stop them. Anything else that is none of the answers is asked again.
    """
    if not sys.stdin.isatty():
        return "s"
    try:
        while True:
            ask_at_terminal(_QUESTION)
            line = typed_line()
            choice = line.strip().lower()[:1] if line else "s"
            if choice in _CHOICES:
                return choice
    except KeyboardInterrupt:
        return "s"


def run(arguments: YardArguments) -> YardReport:
    """Start services, show their output, and ask at Ctrl-C what should happen."""
    if arguments.has("json") or arguments.has("no-wait"):
        raise usage_fault("`--attach` goes with neither `--json` nor `--no-wait`", "up")
    scope = locate(arguments.cwd, default_home())
    target = scope.target(branch_and_services(scope, arguments)[0])
    timeout_of(arguments)
    start = _Start(scope, target, arguments)
    while True:
        try:
            _show(start)
            choice = "s" if start.fault else "ended"
        except KeyboardInterrupt:
            choice = _choice()
        if choice != "c":
            break
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    if choice == "l":
        lines = [f"left running: switchyard logs -f {target.branch}, switchyard down"]
    elif choice == "ended":
        lines = ["every service has ended"]
    else:
        names = start.to_stop()
        ended = down(scope, branch=target.branch, services=names)["stopped"] if names else []
        lines = stopped_lines(ended)
    if start.fault:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        raise start.fault
    return YardReport("up", {}, lines)
