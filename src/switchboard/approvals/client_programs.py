"""Which program is the client: what stands above a process, shells and runners in between."""

from switchkit.platform import Unknown
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


def clients_above(pid: int) -> tuple[int, ...]:
    """The client of a process, and whatever it started that process through, nearest first.

    A client may start us through shells and through runners of packages. The first program that is
    neither is the client; a shell that leads the session of a terminal is where a person types.
    """
    try:
        above = ancestry(pid)[1:]
    except Unknown:
        return ()
    found: list[int] = []
    for each in above:
        if each.pid == 1 or each.name in _INITS:
            break
        is_shell = each.name in _SHELLS
        if is_shell and each.terminal and each.session == each.pid:
            break
        found.append(each.pid)
        # Runners tell in their names what they run.
        if not is_shell and each.name.split(" ")[0] not in _RUNNERS:
            break
    return tuple(found)
