"""MCP servers that a host has left behind: they run on, and nobody speaks to them.

Four things have to come together before a process counts as one: its command line is that of a
server in a file of its user, arguments included; its parent has ended; its input is a pipe or a
socket, as a host makes it; and nobody else holds the other end. A server that somebody runs for
themselves has a terminal, a file or nothing there, or somebody who writes to it. Where that cannot
be told, because some process does not show what it holds, the server stays.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from signal import SIGKILL, SIGTERM

from msgspec import Struct

from switchkit.exits import wait_ended
from switchkit.platform import GONE, SENT, Vitals
from switchkit.platform.facts import (
    age_s,
    command_words,
    open_paths,
    owner_of,
    resident_bytes,
    user_of,
    working_folder,
)
from switchkit.platform.paths import true_path
from switchkit.platform.ports import open_ports
from switchkit.platform.processes import signal_exactly
from switchkit.platform.streams import is_input_over, stream_of, streams_of
from switchkit.processes import ProcessTable, ancestry

# Who takes orphans in: the first process, or the manager of a user's session.
_GUARDIANS = frozenset({"systemd", "init", "launchd"})
_FIRST = 1
# Programs that fetch and start another; their own name says nothing.
_RUNNERS = frozenset({"npx", "npm", "pnpm", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "deno"})
_RUNNING = frozenset({"run", "exec", "tool", "x", "dlx"})
_INTERPRETERS = re.compile(r"(?:python|pypy|node|ruby|php|java)[0-9.]*")
# Of these no single word tells what they do.
_WHOLE = frozenset({"docker", "podman", "nerdctl", "ssh", "sudo", "sh", "bash", "zsh", "env"})
_VERSION = re.compile(r"(?<=.)@[^@/]{0,40}$|[=<>~]=.{0,40}$")
_GRACE_S = 2.0


class LaunchLine(Struct, frozen=True, kw_only=True):
    """How a server is started, and by whom."""

    host: str
    server: str
    command: str
    args: tuple[str, ...] = ()


class Leftover(Struct, frozen=True, kw_only=True):
    """A server that was left behind, with everything below it."""

    pid: int
    # When it began, which tells it from a later process of the same number.
    began: int
    host: str
    server: str
    # The words of its command line.
    command: tuple[str, ...]
    # For how long it has run; nothing where that is not known.
    age_s: float | None
    memory: int
    # Files and ports that it has open.
    holds: tuple[str, ...] = ()
    # Its descendants, each with its beginning.
    below: tuple[tuple[int, int], ...] = ()


def leftovers(lines: Iterable[LaunchLine]) -> list[Leftover]:
    """What hosts have left behind on this machine."""
    known = {key: line for line in lines if (key := launch_meaning((line.command, *line.args), ""))}
    table = ProcessTable()
    # Whoever has started us is alive, whatever its command line looks like.
    above = {each.pid for each in ancestry(os.getpid())}
    found: list[Leftover] = []
    for process in table.processes.values():
        if process.pid in above or not _is_orphan(process, table):
            continue
        words = command_words(process.pid)
        line = known.get(launch_meaning(words, working_folder(process.pid) or ""))
        if line is None or owner_of(process.pid) != os.getuid():
            continue
        if _is_spoken_to(process, table):
            continue
        found.append(_leftover(process, table, tuple(words), line))
    return sorted(found, key=lambda each: each.began)


def running_bytes(lines: Iterable[LaunchLine]) -> tuple[int, int]:
    """How many of these servers run now, started by whomever, and the memory that they take."""
    known = {key for line in lines if (key := launch_meaning((line.command, *line.args), ""))}
    table = ProcessTable()
    above = {each.pid for each in ancestry(os.getpid())}
    found: dict[int, int] = {}
    for process in table.processes.values():
        if process.is_dead or process.pid in above or owner_of(process.pid) != os.getuid():
            continue
        if launch_meaning(command_words(process.pid), working_folder(process.pid) or "") in known:
            found[process.pid] = process.parent
    # A program that starts another, as `npx` does, is one server with it.
    first = [pid for pid, parent in found.items() if parent not in found]
    everyone = {each.pid for pid in first for each in _below(pid, table)} | {*first}
    return len(first), sum(resident_bytes(pid) or 0 for pid in everyone)


def end(leftover: Leftover) -> bool:
    """End a server and all below it, each only if it is still the one that was seen.

    Says whether all of them have ended, which nobody can of one that is not shown.
    """
    everyone = ((leftover.pid, leftover.began), *leftover.below)
    for number in (SIGTERM, SIGKILL):
        told = {signal_exactly(pid, began, number) for pid, began in everyone}
        if not told <= {SENT, GONE}:
            return False
        wait_ended(_living(everyone), time.monotonic() + _GRACE_S)
        if not _living(everyone):
            return True
    return False


def _living(everyone: Sequence[tuple[int, int]]) -> list[Vitals]:
    table = ProcessTable()
    found = [table.processes[pid] for pid, began in everyone if table.has(pid, began)]
    return [each for each in found if not each.is_dead]


def _is_orphan(process: Vitals, table: ProcessTable) -> bool:
    if process.is_dead or process.pid == _FIRST:
        return False
    if process.parent == _FIRST:
        return True
    parent = table.processes.get(process.parent)
    return parent is not None and parent.parent == _FIRST and parent.name in _GUARDIANS


def _below(pid: int, table: ProcessTable) -> Iterator[Vitals]:
    for child in table.children(pid):
        yield table.processes[child]
        yield from _below(child, table)


def pids_below(pid: int, table: ProcessTable) -> list[int]:
    """The numbers of all that came of a process."""
    return [each.pid for each in _below(pid, table)]


def _held(pids: Sequence[int]) -> tuple[str, ...]:
    """What nobody else can have while they run: files, and ports."""
    files = sorted({path for pid in pids for path in open_paths(pid)})
    return (*files, *(f"port {each}" for each in open_ports(pids)))


def _is_spoken_to(process: Vitals, table: ProcessTable) -> bool:
    """Whether somebody may still write to it: its input is no pipe, or another holds the pipe."""
    stream = stream_of(process.pid)
    if not stream:
        return True
    if is_input_over(process.pid):
        return False
    if stream.startswith("socket:"):
        # Somebody has its other end, which has another name; or nobody can tell.
        return True
    tree = {process.pid, *(each.pid for each in _below(process.pid, table))}
    unseen: list[int] = []
    for pid in table.processes:
        if pid in tree:
            continue
        held = streams_of(pid)
        if held is None:
            unseen.append(pid)
        elif stream in held:
            return True
    if not any(stream in (streams_of(pid, to_write=True) or ()) for pid in tree):
        # It is open for writing, and nobody who shows it has it.
        return True
    # They write to themselves. Whether anybody else does as well, nobody can tell.
    return any(user_of(pid) in {os.getuid(), None} for pid in unseen)


def launch_meaning(words: Sequence[str], folder: str) -> tuple[str, ...]:
    """What a command line does, so that two that do the same are equal; nothing if it is unclear.

    Programs that only start another are left out, and paths are made whole.
    """
    if words and os.path.basename(words[0]) in _WHOLE:
        return (os.path.basename(words[0]), *words[1:])
    for place, word in enumerate(words):
        name = os.path.basename(word)
        if word.startswith("-") or name in _RUNNERS or name in _RUNNING:
            continue
        if _INTERPRETERS.fullmatch(name):
            continue
        rest = tuple(words[place + 1 :])
        if os.sep not in word:
            # `@scope/name@1.2` and `name==1.2` are `name` once they are installed.
            return (_VERSION.sub("", word), *rest)
        if word.startswith("@"):
            return (os.path.basename(_VERSION.sub("", word)), *rest)
        whole = os.path.join(folder, word)
        # A relative path means another file in each folder.
        return (true_path(whole), *rest) if os.path.isabs(whole) else ()
    return ()


def _leftover(
    process: Vitals, table: ProcessTable, command: tuple[str, ...], line: LaunchLine
) -> Leftover:
    below = [*_below(process.pid, table)]
    return Leftover(
        pid=process.pid,
        began=process.began,
        host=line.host,
        server=line.server,
        command=command,
        age_s=age_s(process.pid, process.began),
        memory=sum(resident_bytes(each.pid) or 0 for each in (process, *below)),
        holds=_held([each.pid for each in (process, *below)]),
        below=tuple((each.pid, each.began) for each in below),
    )
