"""`switchboard watch`: a server under development is started anew whenever its files change."""

import os
import shlex
import threading
from collections.abc import Iterable, Iterator
from typing import ClassVar

from switchboard.children.schema import ServerEntry
from switchboard.cli.render import hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.servers.naming import no_daemon, server_for
from switchboard.control.answers import Changed
from switchboard.control.requests import ChildRequest
from switchboard.core.faults import Fault
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word
from switchkit.platform.paths import true_path

_LOOK_S = 0.3
# An editor, or a compiler, writes several files one after the other.
_QUIET_S = 0.2
_MOST_FILES = 20_000
_SKIPPED = frozenset(
    {"node_modules", "__pycache__", ".git", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"}
)
_DATA = (".log", ".db", ".sqlite", ".sqlite3", ".duckdb", ".pyc", ".tmp", ".swp", "~")

USAGE = Usage(
    verb="watch",
    summary="Restart a server whenever its files change, while you work on it.",
    words=(Word(name="NAME", about="the name of the server", is_name=True),),
    options=(
        Option(name="path", value="PATH", many=True, about="watch this instead; repeatable"),
        Option(name="force", about="also while it works on calls, which then fail"),
    ),
    details=(
        "Watches the folders of the files on its command line, until Ctrl-C. Clients stay "
        "connected and notice nothing but new tools. A server of a workspace whose files have "
        "changed waits for `switchboard trust` first, as ever."
    ),
    examples=("switchboard watch mine", "switchboard watch mine --path src"),
)

_Seen = dict[str, tuple[int, int]]


class WatchReport(Report, frozen=True, kw_only=True, tag="switchboard.watch/1"):
    """One start anew, and why."""

    one_of_many: ClassVar[bool] = True
    name: str
    changed: tuple[str, ...] = ()
    count: int = 0
    failure: str = ""
    hint: str = ""

    def lines(self, style: Style) -> Iterator[str]:
        files = ", ".join(style.paths(each) for each in self.changed[:3])
        more = len(self.changed) - 3
        told = f"{files} and {more} more" if more > 0 else files
        if self.failure:
            yield f"{told} changed: {style.red(self.failure)}"
            if self.hint:
                yield f"  {self.hint}"
        elif self.count:
            yield f"{told} changed: {style.bold(self.name)} has been restarted"
        else:
            yield f"{told} changed: {style.bold(self.name)} starts with its next call"


def run(request: CommandRequest) -> Report:
    settings = usable_for(request)
    name = server_for(settings, request.arguments.word(0))
    entry = next(each for each in settings.servers if each.name == name)
    roots = _roots(entry, request)
    seen = _look(roots)
    where = ", ".join(request.talk.style.paths(each) for each in roots)
    request.talk.say(f"watching {counted(len(seen), 'file')} in {where}; Ctrl-C ends it")
    if entry.seal is not None and not entry.seal.is_dev:
        style = request.talk.style
        request.talk.say(
            f"a change of its code ends the trust in `{name}`, which then waits for it"
        )
        request.talk.say(hint(style, f"switchboard trust --dev {shlex.quote(name)}"))
    pause = threading.Event()
    while True:
        pause.wait(_LOOK_S)
        now = _look(roots)
        if now == seen:
            continue
        while (later := _after(pause, roots)) != now:
            now = later
        changed = tuple(
            sorted(path for path in seen.keys() | now.keys() if seen.get(path) != now.get(path))
        )
        seen = now
        request.show(_restarted(request, settings.workspace, name, changed))


def _after(pause: threading.Event, roots: tuple[str, ...]) -> _Seen:
    pause.wait(_QUIET_S)
    return _look(roots)


def _restarted(
    request: CommandRequest, workspace: str, name: str, changed: tuple[str, ...]
) -> WatchReport:
    wanted = ChildRequest(
        action="restart",
        name=name,
        workspace=workspace,
        only_unused=not request.arguments.has("force"),
    )
    try:
        answer = daemon_answer(request, wanted, Changed)
    except Fault as fault:
        return WatchReport(name=name, changed=changed, failure=fault.message, hint=fault.hint)
    if answer is None:
        gone = no_daemon("so the server does not run")
        return WatchReport(name=name, changed=changed, failure=gone.message, hint=gone.hint)
    return WatchReport(name=name, changed=changed, count=answer.count)


def _roots(entry: ServerEntry, request: CommandRequest) -> tuple[str, ...]:
    """What is watched: what was named, or the folders of files on the command line."""
    if named := request.arguments.all("path"):
        for path in named:
            if not os.path.exists(path):
                raise UsageError(f"there is no `{path}` to watch")
        return tuple(os.path.abspath(path) for path in named)
    words = (os.path.join(entry.cwd, word) for word in (entry.command, *entry.args))
    files = {true_path(word) for word in words if os.path.isfile(word)}
    # The interpreter is no part of what somebody works on.
    own = sorted({os.path.dirname(file) for file in files if not os.access(file, os.X_OK)})
    own = own or sorted(os.path.dirname(file) for file in files)
    if not own:
        raise UsageError(
            f"no file is on the command line of `{entry.name}`",
            f"say what to watch: switchboard watch {shlex.quote(entry.name)} --path DIR",
        )
    return tuple(own)


def _look(roots: Iterable[str]) -> _Seen:
    """Every file below these, with when it was written and how long it is."""
    seen: _Seen = {}
    for root in roots:
        for path in (root,) if os.path.isfile(root) else _files(root):
            if len(seen) >= _MOST_FILES:
                raise UsageError(
                    f"there are more than {_MOST_FILES:,} files to watch",
                    "name fewer: --path DIR",
                )
            try:
                found = os.stat(path)
            except OSError:
                # An editor has just replaced it; the next look finds the new one.
                continue
            seen[path] = (found.st_mtime_ns, found.st_size)
    return seen


def _files(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each not in _SKIPPED]
        for file in files:
            if not file.endswith(_DATA):
                yield os.path.join(folder, file)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in usable_for(request).servers)
