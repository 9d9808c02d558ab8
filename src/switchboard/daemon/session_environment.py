"""The environment of a session: what its hello brought, and what its configuration asks for."""

import os
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from switchboard.children.environment import names_for
from switchboard.children.secrets.texts import references_of
from switchboard.config.locate import WORKSPACE_VARIABLE
from switchboard.daemon.hello import Hello
from switchboard.ipc.environment import FAMILY_END
from switchboard.ipc.protocol import EVERYTHING
from switchboard.providers.table import TABLE, configured
from switchboard.settings.fields import VARIABLE_NAMES
from switchboard.settings.sections import Settings

# Asked of every client, because the settings look at them whatever the files say.
OWN_NAMES = VARIABLE_NAMES | {WORKSPACE_VARIABLE, "AGH_HOME"}
# Relative ones mean the client's directory, and the daemon stands elsewhere.
_PATHS = (
    *(WORKSPACE_VARIABLE, "AGH_HOME", "LOG_DIR", "SWITCHBOARD_VAULT_KEY_FILE"),
    *(name for row in TABLE.values() for name in row.path_variables),
)


class Lookup(Mapping[str, str]):
    """An environment that remembers what was looked for, and what of it in vain."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.sought: set[str] = set()
        self.missed: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.sought.add(name)
        try:
            return self._values[name]
        except KeyError:
            self.missed.add(name)
            raise

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def first_environ(hello: Hello) -> dict[str, str]:
    """What is known before anything was asked."""
    return {**hello.environ, "SWITCHBOARD_HOME": hello.home}


def with_absolute_paths(environ: Mapping[str, str], cwd: str) -> dict[str, str]:
    """The same with the client's directory in front of relative paths."""
    return {
        **environ,
        **{name: absolute(environ[name], cwd) for name in _PATHS if environ.get(name)},
    }


def absolute(path: str, cwd: str) -> str:
    """A path as the client means it. `~` is understood later."""
    return path if path.startswith("~") or os.path.isabs(path) else os.path.join(cwd, path)


def names_in(settings: Settings) -> set[str]:
    """The variables that servers and providers will look up when they start."""
    references = [each for entry in settings.servers for each in references_of(entry)]
    names = {
        name for kind, _, name in (each.partition(":") for each in references) if kind == "env"
    }
    if settings.vault.engine == "hashicorp" and any(
        each.startswith("vault:") for each in references
    ):
        names.add("VAULT_TOKEN")
    names.update(_names_of_sources(settings))
    for entry in settings.servers:
        names.update(names_for(entry))
    return names


def is_named(name: str, names: AbstractSet[str]) -> bool:
    """Whether a variable is one of these, or of a family that is one of them."""
    return name in names or any(
        each.endswith(FAMILY_END) and name.startswith(each[:-1]) for each in names
    )


def wants_everything(settings: Settings) -> bool:
    """Whether a server, or a provider, inherits the whole environment."""
    return any(entry.inherit_env for entry in settings.servers) or EVERYTHING in set(
        _names_of_sources(settings)
    )


def _names_of_sources(settings: Settings) -> Iterator[str]:
    for source in configured(settings):
        yield from source.env_names(settings)
