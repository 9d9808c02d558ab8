"""Programs that start what they like, where they like: each has a keeper, which ends all of it."""

import os
import shutil
import sys
from errno import EACCES, ENOENT
from io import FileIO

from switchboard.procs.spawn import SpawnSpec
from switchboard.procs.wrapped import Wrapped
from switchkit import keeper

# Without site-packages it starts in a few milliseconds, so it has to be told where we are.
_PROGRAM = (
    f"import sys; sys.path.insert(0, {os.path.abspath(f'{keeper.__file__}/../..')!r})\n"
    "from switchkit.keeper import main; main()"
)


def kept(spec: SpawnSpec) -> Wrapped:
    """The program below a keeper that lives as long as its lifeline. Raises OSError.

    Born with it, the keeper ends the program even if we are killed before anybody else knows of it.
    """
    _check_program(spec)
    reading, writing = os.pipe()
    return Wrapped(
        argv=(sys.executable, "-I", "-S", "-c", _PROGRAM, str(reading), *spec.argv),
        env=spec.env,
        cwd=spec.cwd,
        inherits=(FileIO(reading),),
        lifeline=FileIO(writing, "w"),
    )


def _check_program(spec: SpawnSpec) -> None:
    """Tell who asks for a program that is not there, as the start of it would."""
    program = spec.argv[0]
    if shutil.which(program, path=spec.env.get("PATH", os.defpath)) is None:
        is_there = os.sep in program and os.path.exists(program)
        number = EACCES if is_there else ENOENT
        raise OSError(number, os.strerror(number), program)
