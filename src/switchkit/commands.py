"""Which file a command means: decided by us, before the start, and never by a relative folder."""

import errno
import os

from switchkit.platform.paths import true_path


def search_path(path: str, apart_from: str = "") -> str:
    """The folders of a search path that count, in their order.

    A relative one, an empty one too, would mean another program wherever somebody stands. `apart
    from` is a real folder whose programs are somebody else's.
    """
    folders = [
        folder
        for folder in path.split(os.pathsep)
        if os.path.isabs(folder) and not (apart_from and lies_in(folder, apart_from))
    ]
    return os.pathsep.join(folders)


def lies_in(path: str, folder: str) -> bool:
    """Whether a path is a real folder or lies in it, as it is written or where it leads."""
    return any(
        found == folder or found.startswith(folder.rstrip(os.sep) + os.sep)
        for found in (os.path.normpath(path), true_path(path))
    )


def resolved_command(command: str, *, cwd: str, path: str) -> str:
    """The absolute path of a command, not following links. Raises OSError when there is none."""
    if os.sep in command:
        found = os.path.normpath(os.path.join(cwd, command))
        if os.path.isfile(found):
            if os.access(found, os.X_OK):
                return found
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), command)
    else:
        for folder in search_path(path).split(os.pathsep):
            found = os.path.join(folder, command)
            if folder and os.path.isfile(found) and os.access(found, os.X_OK):
                return os.path.normpath(found)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command)


def words_in_command(command: str) -> str:
    """What to do about a command that was not found and holds its arguments too; else nothing."""
    program, *words = command.split()
    if not words:
        return ""
    listed = ", ".join(f'"{word}"' for word in words)
    return f'write "command": "{program}", "args": [{listed}]: words belong into `args`'
