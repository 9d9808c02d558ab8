"""The exact environment of a stdio child: a short base, what its entry declares, its secrets."""

import os
from collections.abc import Mapping

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.runners import taken_from_folder
from switchboard.ipc.environment import BASE_NAMES, OF_ONE_PROCESS
from switchkit.commands import search_path

# By these a program finds the settings and the logins of its user.
_OF_THE_USER = ("HOME", "USER", "LOGNAME")
# Other with every window.
_OF_A_WINDOW = frozenset({"TERM", *OF_ONE_PROCESS})
# Lists of folders from which programs load code.
_SEARCHED = ("PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH")
# Without network a package runner would try again for a minute, and then not say why.
OFFLINE = {"npm_config_offline": "true", "UV_OFFLINE": "1"}


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What every program is given."""
    found = {name: environ[name] for name in BASE_NAMES if name in environ}
    if "PATH" in found:
        found["PATH"] = searched(found["PATH"])
    return found


def searched(path: str, apart_from: str = "") -> str:
    """The search path of a program; see `switchkit.commands`. Empty, it would mean its folder."""
    return search_path(path, apart_from) or os.defpath


def child_environment(
    entry: ServerEntry, environ: Mapping[str, str], secrets: Mapping[str, str]
) -> dict[str, str]:
    """The environment to start the child with. `secrets` are the variables that were looked up."""
    env = _inherited(entry, environ) if entry.inherit_env else base_environment(environ)
    if entry.sandbox_profile != "none" and not (entry.allow_network or entry.egress):
        env.update(offline(entry.command, entry.args))
    env.update(entry.env)
    env.update(secrets)
    if "PATH" in env:
        env["PATH"] = searched(env["PATH"], entry.apart_from)
    return env


def offline(command: str, args: tuple[str, ...]) -> dict[str, str]:
    """What a command line has to be told that cannot reach the network."""
    return dict(OFFLINE) if taken_from_folder(command, args) == "settings" else {}


def _inherited(entry: ServerEntry, environ: Mapping[str, str]) -> dict[str, str]:
    """Everything, without the folders of a workspace that is not the server's own."""
    env = dict(environ)
    for name in _SEARCHED if entry.apart_from else ():
        if name in env:
            env[name] = search_path(env[name], entry.apart_from)
            if not env[name]:
                del env[name]
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
    # Variables are bytes, and need not be text.
    parts = (f"{name}={value}" for name, value in sorted(seen.items()))
    return "\0".join(parts).encode("utf-8", "surrogateescape")
