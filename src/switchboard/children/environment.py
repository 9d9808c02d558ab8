"""The exact environment of a stdio child: a short base, what its entry declares, its secrets."""

import os
from collections.abc import Mapping

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.runners import taken_from_folder
from switchboard.ipc.environment import BASE_NAMES
from switchkit.commands import search_path

# Lists of folders from which programs load code.
_SEARCHED = ("PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH")
# Without network a package runner would try again for a minute, and then not say why.
OFFLINE = {"npm_config_offline": "true", "UV_OFFLINE": "1"}


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What every program is given."""
    return {name: environ[name] for name in BASE_NAMES if name in environ}


def child_environment(
    entry: ServerEntry, environ: Mapping[str, str], secrets: Mapping[str, str]
) -> dict[str, str]:
    """The environment to start the child with. `secrets` are the variables that were looked up."""
    env = _inherited(entry, environ) if entry.inherit_env else base_environment(environ)
    if entry.sandbox_profile != "none" and not entry.allow_network:
        env.update(offline(entry.command, entry.args))
    env.update(entry.env)
    env.update(secrets)
    if "PATH" in env:
        # Empty, it would mean the folder that the program starts in.
        env["PATH"] = search_path(env["PATH"], entry.apart_from) or os.defpath
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
