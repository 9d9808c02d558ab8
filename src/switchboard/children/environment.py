"""The exact environment of a stdio child: a short base, what its entry declares, its secrets."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.environment import BASE_NAMES


class SecretSource(Protocol):
    """Where the values of `env:` and `vault:` references come from."""

    def resolve(self, reference: str) -> str | None:
        """The value, or None when there is none."""
        ...


class EnvironmentSecrets:
    """Resolves `env:NAME`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def resolve(self, reference: str) -> str | None:
        kind, _, name = reference.partition(":")
        return self._environ.get(name) if kind == "env" else None


class NotedSecrets:
    """Resolves as another source does, and has every value noted that was found."""

    def __init__(self, source: SecretSource, note: Callable[[Iterable[str]], None]) -> None:
        self._source = source
        self._note = note

    def resolve(self, reference: str) -> str | None:
        value = self._source.resolve(reference)
        if value is not None:
            self._note((value,))
        return value


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What every program is given."""
    return {name: environ[name] for name in BASE_NAMES if name in environ}


def child_environment(
    entry: ServerEntry, environ: Mapping[str, str], secrets: SecretSource
) -> dict[str, str]:
    """The environment to start the child with. Raises a fault when a secret has no value."""
    env = dict(environ) if entry.inherit_env else base_environment(environ)
    env.update(entry.env)
    for name, reference in entry.secret_env.items():
        value = secrets.resolve(reference)
        if value is None:
            raise Fault(
                FaultCode.UNAUTHENTICATED,
                "secret-missing",
                f"the secret `{name}` of `{entry.name}` has no value",
                hint=f"it is read from `{reference}`",
            )
        env[name] = value
    return env
