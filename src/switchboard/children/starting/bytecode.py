"""Python takes the bytecode beside a source for the source, and what it says of itself for true.

So nobody who looks at the source has seen what runs. Programs that run code of a workspace are
started so that they look for bytecode elsewhere.
"""

import os
from collections.abc import Mapping, Sequence

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.runners import is_python, name_of, python_options
from switchkit.commands import lies_in

# No folder: nothing is found there, and nothing is written. For whoever must not have one of ours.
NOWHERE = os.devnull
_VARIABLE = "PYTHONPYCACHEPREFIX"
_OLD = ("python2", "pypy2")


def shuts_bytecode(words: Sequence[str]) -> bool:
    """Whether a command line can be kept from all bytecode beside sources: Python itself is."""
    return bool(words) and is_python(words[0]) and not name_of(words[0]).startswith(_OLD)


def without_bytecode(words: Sequence[str], kept: str) -> tuple[str, ...]:
    """A command line of Python that reads and writes bytecode in `kept` alone.

    An option and not a variable, which `-E` and `-I` forbid; and before all others, since of
    several Python heeds the first.
    """
    if not shuts_bytecode(words):
        return tuple(words)
    return (words[0], "-X", f"pycache_prefix={kept}", *words[1:])


def kept_for(entry: ServerEntry, workspace: str, home: str) -> str:
    """Where the bytecode of a server of a workspace is kept; empty if it runs no code of it."""
    if shuts_bytecode((entry.command,)):
        at = python_options(entry.args)
        script = entry.args[at] if at < len(entry.args) else "-"
        # `-m`, `-c` and the like have the folder that they start in on their path, and a Python of
        # the workspace has modules of its own.
        is_outside = os.path.isabs(entry.command) and not script.startswith("-")
        named = (os.path.dirname(entry.command), os.path.join(entry.cwd, script))
        if is_outside and not any(lies_in(each, workspace) for each in named):
            return ""
    # What is confined sees nothing of the home, and could leave bytecode for the next start.
    return os.path.join(home, "bytecode") if entry.sandbox_profile == "none" else NOWHERE


def bytecode_variables(kept: str) -> Mapping[str, str]:
    """The same for Python that a server starts in its turn, as far as it heeds variables."""
    return {_VARIABLE: kept} if kept else {}
