"""Which program is the client: what stands above a process, shells and runners in between."""

from switchkit.platform import Unknown, Vitals
from switchkit.platform.streams import stream_of
from switchkit.processes import ancestry

# What only runs what somebody else wants run, and what has the orphans of everybody.
_SHELLS = frozenset({"sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"})
_RUNNERS = frozenset(
    {
        *("bunx", "npm", "npx", "pnpm", "yarn", "hatch", "pipx", "poetry", "rye", "uv", "uvx"),
        *("asdf", "direnv", "doas", "env", "ionice", "just", "make", "mise", "nice", "nohup"),
        *("script", "setsid", "stdbuf", "sudo", "time", "timeout", "unbuffer", "xargs"),
    }
)
_INITS = frozenset({"init", "launchd", "systemd"})


def asking_program(pid: int) -> int:
    """The program that wants a command run, above the shells in between; 0 if it is not known.

    A shell that leads the session of a terminal is where a person types. What stands above it
    drew the terminal, and other terminals too.
    """
    try:
        above = ancestry(pid)[1:]
    except Unknown:
        return 0
    for each in above:
        if each.name not in _SHELLS:
            return 0 if each.name in _INITS else each.pid
        if each.terminal and each.session == each.pid:
            break
    return 0


def clients_above(pid: int, stream: str = "") -> tuple[int, ...]:
    """The client of a process, and whatever it started that process through, nearest first.

    A client may start us through shells, through runners of packages, and through programs that
    nobody can list. The first program that is neither shell nor runner is a client. Above it is
    whoever made the pipe that the process is spoken to over, by `stream` or its input, and so on
    for that one: what is between them only passes it on.
    """
    try:
        above = _until_a_person(ancestry(pid)[1:])
    except Unknown:
        return ()
    # Runners tell in their names what they run.
    between = (each.name in _SHELLS or each.name.split(" ")[0] in _RUNNERS for each in above)
    named = next((at for at, is_between in enumerate(between, 1) if not is_between), len(above))
    found = max(named, _makers(above, stream or stream_of(pid)))
    return tuple(each.pid for each in above[:found])


def _until_a_person(above: tuple[Vitals, ...]) -> tuple[Vitals, ...]:
    """Those who may be a client: below what has orphans, and below a shell that one types in."""
    for at, each in enumerate(above):
        leads = each.name in _SHELLS and each.terminal and each.session == each.pid
        if leads or each.pid == 1 or each.name in _INITS:
            return above[:at]
    return above


def _makers(above: tuple[Vitals, ...], stream: str) -> int:
    """How many of them, from the nearest, up to the last who is spoken to over what it was given.

    Who has the same input as the one below was not its maker.
    """
    found = 0
    while stream and found < len(above):
        while found < len(above) and stream_of(above[found].pid) == stream:
            found += 1
        if found == len(above):
            break
        stream = stream_of(above[found].pid)
        found += 1
    return found
