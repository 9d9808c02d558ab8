"""Where a command is, and which folders it needs to run at all."""

import os
from collections.abc import Iterator

from switchboard.sandbox.paths import depth, is_below, is_led_through
from switchkit.commands import resolved_command
from switchkit.platform.paths import true_path

# Folders that hold a program with everything it needs, and nothing of its user's.
_MARKS = ("pyvenv.cfg", "conda-meta")
_SHEBANG = b"#!"
_LINE_BYTES = 512
# A script is run by an interpreter, which may be a link to another one in a virtual environment.
_MOST_STEPS = 12
# So far below a home the folder above `bin` belongs to the program alone.
_OWN_DEPTH = 2


def program_folders(
    command: str, *, emptied: tuple[str, ...], path: str, writable: tuple[str, ...] = ()
) -> list[str]:
    """The folders of a command: of itself, of what it links to and of what interprets it.

    What a link, a first line or a `pyvenv.cfg` in a `writable` folder names was perhaps written by
    a confined program, for its next start. Of that only a whole installation of Python counts.
    """
    folders: dict[str, None] = {}
    left, seen = [command], set[str]()
    while left and len(seen) < _MOST_STEPS:
        program = left.pop()
        if program in seen:
            continue
        seen.add(program)
        folder = _folder_of(program, emptied)
        folders[folder] = None
        left += [
            each
            for witness, each in _next_programs(program, path)
            if not is_led_through(witness, writable) or _is_installed_python(each)
        ]
    return list(folders)


def _folder_of(program: str, emptied: tuple[str, ...]) -> str:
    """The folder that a program is installed in, as far as it holds nothing else."""
    folder = os.path.dirname(program)
    prefix = os.path.dirname(folder)
    if any(os.path.exists(os.path.join(prefix, mark)) for mark in _MARKS):
        return prefix
    for home in emptied:
        if folder == home:
            return program
        # `~/.local/bin` and `~/.cargo/bin` lie beside secrets, `~/.nvm/versions/v20/bin` does not.
        if is_below(folder, home) and depth(prefix) - depth(home) < _OWN_DEPTH:
            return folder
    return prefix


def _is_installed_python(program: str) -> bool:
    """Whether it is the interpreter of an installation, which holds nothing but Python."""
    real = true_path(program)
    library = os.path.join(os.path.dirname(os.path.dirname(real)), "lib")
    if not os.path.basename(real).startswith("python") or not os.access(real, os.X_OK):
        return False
    try:
        versions = [name for name in os.listdir(library) if name.startswith("python3")]
    except OSError:
        return False
    return any(os.path.isfile(os.path.join(library, each, "os.py")) for each in versions)


def _next_programs(program: str, path: str) -> Iterator[tuple[str, str]]:
    """What a program leads to, each with the file that says so."""
    real = true_path(program)
    if os.path.islink(program):
        # One by one: the system looks at each link on the way, so each has to be there.
        folder = true_path(os.path.dirname(program))
        yield program, os.path.normpath(os.path.join(folder, os.readlink(program)))
    if real != program:
        yield program, real
    for interpreter in _interpreters(real, path):
        yield real, interpreter
    settings = os.path.join(os.path.dirname(os.path.dirname(program)), "pyvenv.cfg")
    try:
        with open(settings, encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition("=")
                if key.strip() == "home" and os.path.isabs(value.strip()):
                    yield settings, os.path.join(value.strip(), "python3")
    except OSError:
        return


def _interpreters(script: str, path: str) -> Iterator[str]:
    """What the first line of a script names."""
    try:
        with open(script, "rb") as file:
            line = file.readline(_LINE_BYTES)
    except OSError:
        return
    if not line.startswith(_SHEBANG):
        return
    words = os.fsdecode(line[len(_SHEBANG) :]).split()
    if words and os.path.isabs(words[0]):
        yield words[0]
        if os.path.basename(words[0]) == "env" and len(words) > 1 and os.sep not in words[-1]:
            try:
                yield resolved_command(words[-1], cwd=os.sep, path=path)
            except OSError:
                return
