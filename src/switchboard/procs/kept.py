"""Programs that start what they like, where they like: each has a keeper, which ends all of it."""

import os
import sys
from collections.abc import Collection, Mapping
from io import FileIO

from switchboard.procs.spawn import SpawnSpec
from switchboard.procs.wrapped import Wrapped
from switchkit import keeper
from switchkit.commands import resolved_command

# Without site-packages it starts in a few milliseconds, so it has to be told where we are.
_PROGRAM = (
    f"import sys; sys.path.insert(0, {os.path.abspath(f'{keeper.__file__}/../..')!r})\n"
    "from switchkit.keeper import main; main()"
)
_NOTHING: Mapping[str, str] = {}


def kept(
    spec: SpawnSpec,
    *,
    shown: Collection[str] = (),
    handed: Mapping[str, str] = _NOTHING,
    silence_s: float = 0.0,
) -> Wrapped:
    """The program below a keeper that lives as long as its lifeline. Raises OSError.

    Born with it, the keeper ends the program even if we are killed before anybody else knows of it.
    Of the environment it has what is `shown` alone: a shell of the program can read the rest in
    none but the program itself. What is `handed` is not even there: each of these variables names
    an open file, from which the program reads the value once. With `silence_s` the keeper ends it,
    too, when nobody writes to the lifeline for so long.
    """
    program = _found(spec)
    lifeline, ours = os.pipe()
    # Who says that it lives must not wait for a keeper that was stopped.
    os.set_blocking(ours, False)
    silence = (f"{silence_s:g}",) if silence_s else ()
    orders, ordering = os.pipe()
    env, files = dict(spec.env), [FileIO(lifeline), FileIO(orders)]
    for name, value in handed.items():
        files.append(_written(value))
        env[name] = str(files[-1].fileno())
    return Wrapped(
        argv=(sys.executable, "-I", "-S", "-c", _PROGRAM, str(lifeline), str(orders), *silence),
        env={name: env[name] for name in shown if name in env},
        cwd=spec.cwd,
        inherits=tuple(files),
        orders=keeper.orders(program, spec.argv, env),
        orders_to=FileIO(ordering, "w"),
        lifeline=FileIO(ours, "w"),
    )


def _written(value: str) -> FileIO:
    """A file that holds a short text, and is empty once it has been read."""
    reading, writing = os.pipe()
    with FileIO(writing, "w") as file:
        os.set_blocking(writing, False)
        file.write(value.encode())
    return FileIO(reading)


def _found(spec: SpawnSpec) -> str:
    """The file of the program; who asks for one that is not there is told as by its start."""
    path = spec.env.get("PATH") or os.defpath
    return resolved_command(spec.argv[0], cwd=spec.cwd, path=path)
