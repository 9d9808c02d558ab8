"""Starting a program that belongs to nobody. Light: a client waits for the shim."""

import os

from switchkit.platform.light import inheritable_files

# Where the new program finds the file on which it is to say that it is ready.
READY_FILE = 3
_SIGPIPE = 13
# The shell ends at once, so neither our end nor our terminal's is the end of what it started. It
# ignores the keyboard's signals in it, so the program has to set those itself.
_DETACHED = 'cd /; "$@" & exit 0'


def start_detached(
    command: "list[str]", environ: "dict[str, str]", *, log: int, ready: "int | None" = None
) -> None:
    """Start a program in a session of its own, as nobody's child, writing to `log`.

    Nothing else that is open here is open there. No fork: we may have threads. Raises `OSError`.
    """
    actions = [
        (os.POSIX_SPAWN_DUP2, log, 1),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    ]
    kept = set[int]()
    if ready is not None:
        actions.append((os.POSIX_SPAWN_DUP2, ready, READY_FILE))
        kept.add(READY_FILE)
    actions += [(os.POSIX_SPAWN_CLOSE, each) for each in inheritable_files() if each not in kept]
    shell = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", _DETACHED, "sh", *command],
        environ,
        file_actions=actions,
        setsid=True,
        setsigdef=[_SIGPIPE],
    )
    os.waitpid(shell, 0)
