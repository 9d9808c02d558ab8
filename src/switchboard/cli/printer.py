"""The only writer of the command line: data goes to stdout, talk to stderr."""

import io
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from switchboard.cli.moments import local_time
from switchboard.cli.report import ErrorReport, Report
from switchkit.cli.columns import fitted
from switchkit.cli.paging import paged
from switchkit.cli.style import Style, columns_of, is_terminal, safe_for_terminals, style_for


class Talk:
    """What is said while work goes on. Progress is for terminals only."""

    def __init__(self, environ: Mapping[str, str], *, is_quiet: bool = False) -> None:
        # Whether only what has to be said is: no steps.
        self.is_silent = is_quiet
        self._stream = sys.stderr
        self._is_terminal = is_terminal(self._stream)
        self._is_live = self._is_terminal and environ.get("TERM") != "dumb"
        self._shows = False
        self.style: Style = style_for(self._stream, environ)

    @property
    def is_read(self) -> bool:
        """Whether somebody reads along."""
        return self._is_terminal and not self.is_silent

    def progress(self, text: str) -> None:
        """Say what is going on, over what was said before."""
        if self._is_live:
            self._stream.write(f"\r\x1b[K{self.style.dim(text)}")
            self._stream.flush()
            self._shows = True

    def say(self, text: str) -> None:
        """Say something that stays."""
        self.clear()
        self._stream.write(safe_for_terminals(text) + "\n")
        self._stream.flush()

    def page(self, lines: Iterable[str]) -> bool:
        """Say much, a screen at a time; whether somebody wanted to see all of it."""
        self.clear()
        return paged(map(safe_for_terminals, lines), self._stream)

    def step(self, text: str, *, is_passing: bool = False, ending: str = "") -> None:
        """Say what was done, under what was done before; or what is being done, until it is.

        A text that is too long is cut before its `ending`.
        """
        if self.is_silent:
            return
        text = safe_for_terminals(text)
        if self._is_terminal:
            room = columns_of(self._stream) - len(ending)
            text = fitted(text.removesuffix(ending), room) + ending
        if is_passing:
            self.progress(text)
        else:
            self.say(self.style.dim(text))

    def clear(self) -> None:
        """Take the progress away."""
        if self._shows:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shows = False


class Printer:
    """Prints reports, for people or as JSON."""

    def __init__(self, environ: Mapping[str, str], *, as_json: bool) -> None:
        self._as_json = as_json
        self._environ = environ
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal of another encoding shows a code instead of stopping the command.
                stream.reconfigure(errors="backslashreplace")
        self.talk = Talk(environ, is_quiet=as_json)

    def show(self, report: Report) -> int:
        """Print a report and give the exit code that it means."""
        self.talk.clear()
        if isinstance(report, ErrorReport):
            self._show_error(report)
        elif self._as_json and not report.silent:
            self._write_json(report)
        elif not report.silent:
            style = style_for(sys.stdout, self._environ)
            if report.is_paged:
                self._page(report, style)
                return report.exit_code()
            text = "".join(f"{line}\n" for line in report.lines(style))
            # What is piped may end at a terminal as well; who wants bytes as they are has `--json`.
            keeps = report.is_data and not is_terminal(sys.stdout)
            sys.stdout.write(text if keeps else safe_for_terminals(text))
            sys.stdout.flush()
            for line in report.notes(self.talk.style):
                self.talk.say(line)
        return report.exit_code()

    def _page(self, report: Report, style: Style) -> None:
        if paged(map(safe_for_terminals, report.lines(style)), sys.stdout):
            for line in report.notes(self.talk.style):
                self.talk.say(line)

    def _show_error(self, report: ErrorReport) -> None:
        if self._as_json:
            self._write_json(report)
            return
        style = self.talk.style
        if report.problems:
            # A whole report of its own, with a heading.
            self.talk.say(report.message)
            return
        self.talk.say(f"{style.red('error:')} {report.message}")
        for key, value in report.details.items():
            told = str(_for_people(key, value)).rstrip("\n").replace("\n", "\n    ")
            self.talk.say(f"  {key}: {told}")
        if report.hint:
            self.talk.say(f"\n{style.cyan('hint:')} {report.hint}")

    def _write_json(self, report: Report) -> None:
        raw = msgspec.json.encode(report)
        if not report.one_of_many:
            raw = msgspec.json.format(raw, indent=2)
        sys.stdout.write(raw.decode() + "\n")
        sys.stdout.flush()


def _for_people(key: str, value: Any) -> Any:
    """A moment as people read it: by their own clock."""
    return local_time(value) if key.endswith("_at") and isinstance(value, str) else value
