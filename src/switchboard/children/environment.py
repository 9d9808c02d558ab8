"""The exact environment of a stdio child: a short base, what its entry declares, its secrets."""

import os
from collections.abc import Iterator, Mapping

from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.children.schema import ServerEntry
from switchboard.children.starting.bytecode import bytecode_variables
from switchboard.children.starting.runner_variables import (
    carries_login,
    patterns_of,
    runner_variables,
)
from switchboard.children.starting.runners import taken_from_folder
from switchboard.ipc.environment import (
    BASE_NAMES,
    CERTIFICATE_NAMES,
    PLACE_NAMES,
    TEAM_SECRETS,
)
from switchkit.commands import search_path

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


def without_team(environ: Mapping[str, str]) -> dict[str, str]:
    """The whole environment for a program that inherits it, which is never the team itself."""
    return {name: value for name, value in environ.items() if name not in TEAM_SECRETS}


def searched(path: str, apart_from: str = "") -> str:
    """The search path of a program; see `switchkit.commands`. Empty, it would mean its folder."""
    return search_path(path, apart_from) or os.defpath


def child_environment(
    entry: ServerEntry, environ: Mapping[str, str], secrets: Mapping[str, str]
) -> dict[str, str]:
    """The environment to start the child with. `secrets` are the variables that were looked up."""
    env = _inherited(entry, environ) if entry.inherit_env else _usual(entry, environ)
    if entry.sandbox_profile != "none" and not (entry.allow_network or entry.egress):
        env.update(offline(entry.command, entry.args))
    env.update(entry.env)
    env.update(secrets)
    env.update(bytecode_variables(entry.bytecode))
    if "PATH" in env:
        env["PATH"] = searched(env["PATH"], entry.apart_from)
    return env


def names_for(entry: ServerEntry) -> Iterator[str]:
    """What a client is asked for because of this server: no hello carries what may be secret."""
    # The way out of chosen hosts leads through the proxy of their user.
    if entry.transport != "stdio" or entry.egress or _finds_network(entry):
        yield from PROXY_NAMES
    if _finds_network(entry):
        yield from patterns_of((entry.command, *entry.args))


def usual_names(entry: ServerEntry, environ: Mapping[str, str]) -> set[str]:
    """What a server is given without asking: how the network is reached, and where things are."""
    names = {*BASE_NAMES}
    if entry.sandbox_profile == "none":
        names.update(PLACE_NAMES)
    if _finds_network(entry) or entry.egress:
        names.update(CERTIFICATE_NAMES)
    if _finds_network(entry):
        names.update(reaching_names(entry, environ))
    return names


def reaching_names(entry: ServerEntry, environ: Mapping[str, str]) -> set[str]:
    """Those by which proxies and registries are reached.

    Logins there are the user's, and go to servers that the user wrote down. A server of a workspace
    has one that its entry names in `env`, which is shown to who trusts it.
    """
    if not _finds_network(entry):
        return set()
    names = {*PROXY_NAMES, *runner_variables((entry.command, *entry.args), environ)}
    if not entry.fingerprint:
        return names
    return {name for name in names if not carries_login(name, environ.get(name, ""))}


def _usual(entry: ServerEntry, environ: Mapping[str, str]) -> dict[str, str]:
    names = usual_names(entry, environ)
    return {name: value for name, value in environ.items() if name in names}


def _finds_network(entry: ServerEntry) -> bool:
    """Whether it reaches the network by itself: one with chosen hosts is told another way."""
    is_confined = entry.sandbox_profile != "none"
    return (
        entry.transport == "stdio"
        and not entry.egress
        and not (is_confined and not entry.allow_network)
    )


def offline(command: str, args: tuple[str, ...]) -> dict[str, str]:
    """What a command line has to be told that cannot reach the network."""
    return dict(OFFLINE) if taken_from_folder(command, args) == "settings" else {}


def _inherited(entry: ServerEntry, environ: Mapping[str, str]) -> dict[str, str]:
    """Everything but what is a team's, and the folders of a workspace that is not its own."""
    env = without_team(environ)
    for name in _SEARCHED if entry.apart_from else ():
        if name in env:
            env[name] = search_path(env[name], entry.apart_from)
            if not env[name]:
                del env[name]
    return env
