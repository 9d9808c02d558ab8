"""The exact environment of a stdio child: a short base, what its entry declares, its secrets."""

from collections.abc import Mapping

from switchboard.children.schema import ServerEntry
from switchboard.ipc.environment import BASE_NAMES, OF_ONE_PROCESS
from switchboard.wire.messages import encode

# By these a program finds the settings and the logins of its user.
_OF_THE_USER = ("HOME", "USER", "LOGNAME")
# Other with every window.
_OF_A_WINDOW = frozenset({"TERM", *OF_ONE_PROCESS})


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What every program is given."""
    return {name: environ[name] for name in BASE_NAMES if name in environ}


def child_environment(
    entry: ServerEntry, environ: Mapping[str, str], secrets: Mapping[str, str]
) -> dict[str, str]:
    """The environment to start the child with. `secrets` are the variables that were looked up."""
    env = dict(environ) if entry.inherit_env else base_environment(environ)
    env.update(entry.env)
    env.update(secrets)
    return env


def account_of(entry: ServerEntry, environ: Mapping[str, str]) -> bytes:
    """What of an environment decides in whose name a child acts: whose lists it would give.

    Holds secrets: it is to be hashed, with a salt, before it is written anywhere. What is looked up
    in a vault is not in it: that is the same for everybody who has the home.
    """
    if entry.inherit_env:
        seen = {name: value for name, value in environ.items() if name not in _OF_A_WINDOW}
    else:
        seen = {name: environ[name] for name in _OF_THE_USER if name in environ}
    texts = (*entry.secret_env.values(), *entry.headers.values())
    names = (text.removeprefix("env:") for text in texts if text.startswith("env:"))
    seen |= {name: environ.get(name, "") for name in names}
    return encode(sorted(seen.items()))
