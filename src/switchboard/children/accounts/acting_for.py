"""In whose name a child acts. A listing asks, so this loads little."""

from collections.abc import Mapping

from switchboard.children.schema import ServerEntry
from switchboard.ipc.environment import OF_ONE_PROCESS

# By these a program finds the settings and the logins of its user.
OF_THE_USER = ("HOME", "USER", "LOGNAME")
# Other with every window.
_OF_A_WINDOW = frozenset({"TERM", *OF_ONE_PROCESS})


def account_of(entry: ServerEntry, environ: Mapping[str, str]) -> bytes:
    """What of an environment decides in whose name a child acts: whose lists it would give.

    Holds secrets: it is to be hashed, with a salt, before it is written anywhere. What is looked up
    in a vault is not in it: that is the same for everybody who has the home.
    """
    if entry.inherit_env:
        seen = {name: value for name, value in environ.items() if name not in _OF_A_WINDOW}
    else:
        seen = {name: environ[name] for name in OF_THE_USER if name in environ}
    texts = (*entry.secret_env.values(), *entry.headers.values())
    names = (text.removeprefix("env:") for text in texts if text.startswith("env:"))
    seen |= {name: environ.get(name, "") for name in names}
    # Variables are bytes, and need not be text.
    parts = (f"{name}={value}" for name, value in sorted(seen.items()))
    return "\0".join(parts).encode("utf-8", "surrogateescape")
