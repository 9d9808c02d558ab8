"""Why a service is not up: the commonest causes, by what the kernel says and by its last words."""

import re
from collections.abc import Iterable

from switchkit.platform import Unknown
from switchkit.platform.ports import addresses, holder, holds, listening
from switchyard.runtime.family import members
from switchyard.runtime.runs import RunRecord

_VARIABLE = re.compile(
    r"""^KeyError:\ '(?P<python>[A-Z][A-Z0-9_]*)'$
    | \b(?P<shell>[A-Z][A-Z0-9_]*):\ (?:unbound\ variable|parameter\ not\ set)
    | key\ not\ found:\ "(?P<ruby>[A-Z][A-Z0-9_]*)"
    | (?i:environment\ variable):?\ [`'"]?(?P<said>[A-Z][A-Z0-9_]+)[`'"]?
      (?i:\ (?:is\ |was\ )?(?:not\ set|not\ defined|undefined|missing|required|unset))""",
    re.VERBOSE,
)
_PROGRAM = re.compile(r"(?:^|:\ )(\S+):\ (?:command\ )?not\ found$")
_IN_USE = re.compile(r"(?i)address already in use|EADDRINUSE")
_PORT = re.compile(r"(?i)(?::|port )(\d{2,5})\b")
_NOT_FOUND = 127


def diagnose(run: RunRecord, said: Iterable[str] = ()) -> str | None:
    """One sentence with the cause and what to write, if the cause is a known one.

    `said` is what the service printed last.
    """
    if run.exit_code and (found := _of_last_words(run, list(said))):
        return found
    if run.kin and run.exit_code == 0:
        pids = ", ".join(str(pid) for pid, _ in run.kin)
        return (
            f"it became a daemon: process {pids} goes on; have it stay in the foreground "
            "(such as `daemon off`, `--no-daemon`, `--nodaemonize`)"
        )
    if run.port is None or not run.pid:
        return None
    try:
        sockets = listening()
    except Unknown:
        return None
    pids = [one.pid for one in members(run.leader)]
    inodes = sockets.get(run.port, set())
    return _of_own_port(run, inodes, pids) if inodes else _of_other_ports(run, sockets, pids)


def _of_last_words(run: RunRecord, said: list[str]) -> str | None:
    """A crash that the program has explained itself."""
    for line in reversed(said):
        if run.exit_code == _NOT_FOUND and (found := _PROGRAM.search(line)):
            return (
                f"it ran `{found[1]}`, which is not there; install what it needs in this folder, "
                "or name the program with its path"
            )
        if _IN_USE.search(line):
            return _of_used_port(line)
        variable = _VARIABLE.search(line)
        # A missing key of anything else is no variable.
        if variable and (not variable["python"] or any(map(_reads_variables, said))):
            return _of_variable(run, next(filter(None, variable.groups())))
    return None


def _reads_variables(line: str) -> bool:
    return "environ" in line or "<frozen os>" in line


def _of_variable(run: RunRecord, name: str) -> str:
    if name == "PORT" and run.port is None:
        return "it wants the variable PORT, which a service with a port has; add `port = 0`"
    return (
        f"it wants the variable {name}, which it does not have; set it in the `env` of the "
        "service, or in its `env_file`"
    )


def _of_used_port(line: str) -> str:
    told = _PORT.search(line)
    port = int(told[1]) if told else None
    try:
        inodes = listening().get(port) if port else None
        found = holder(inodes) if inodes else None
    except Unknown:
        found = None
    which = f"the port {port}" if port else "a port"
    who = f"process {found.pid} ({found.command})" if found else "another process"
    return f"it wants {which}, which {who} has; pass `{{port}}` in its command"


def _of_own_port(run: RunRecord, inodes: set[int], pids: list[int]) -> str | None:
    """Somebody listens on its port; maybe not the service, or not where it is looked for."""
    if not any(holds(pid, inodes) for pid in pids):
        found = holder(inodes)
        who = f"process {found.pid} ({found.command})" if found else "another process"
        return f"its port {run.port} is held by {who}, which is not ours"
    if run.host == "127.0.0.1" and _listens_on(run.port or 0) == {"::1"}:
        return f'it listens on [::1]:{run.port} only; add `host = "::1"`, or have it use {{host}}'
    return None


def _listens_on(port: int) -> set[str]:
    try:
        return addresses(port)
    except Unknown:
        return set()


def _of_other_ports(run: RunRecord, sockets: dict[int, set[int]], pids: list[int]) -> str | None:
    """Nobody listens on its port; maybe the service listens elsewhere."""
    others = sorted(p for p, there in sockets.items() if any(holds(pid, there) for pid in pids))
    if others:
        return (
            f"it listens on {', '.join(map(str, others))} instead of {run.port}; pass "
            "`{port}` in its command, or let it read the variable PORT"
        )
    return f"it runs, but listens on no port; its own is {run.port}" if pids else None
