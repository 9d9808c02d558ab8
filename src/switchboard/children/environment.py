"""The exact environment of a stdio child: a short base, what its entry declares, its secrets."""

from collections.abc import Mapping

from switchboard.children.schema import ServerEntry
from switchboard.ipc.environment import BASE_NAMES


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
