"""Looks the secrets of a server up, off the loop, and again when they may have changed."""

import asyncio
import shlex
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import filled
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Session

_MISSING = "secret-missing"
# How it names itself as a client.
_CODEX = "codex"


class SecretSource(Protocol):
    """Where the values of `env:` and `vault:` references come from."""

    def resolve(self, entry: ServerEntry, reference: str, /) -> str | None:
        """The value for this server, or None when there is none. It may block.

        Raises a fault when the server may not have it, or when it cannot be had.
        """
        ...

    def mark(self) -> object:
        """Another one than before when a value may have changed. It does not block."""
        ...

    def handed_out(self, entry: ServerEntry, references: Iterable[str], /) -> None:
        """A server is about to be given these."""
        ...


class EnvironmentSecrets:
    """Resolves `env:NAME`, for those who have no vault."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def resolve(self, entry: ServerEntry, reference: str, /) -> str | None:
        del entry
        kind, _, name = reference.partition(":")
        return (self._environ.get(name) or None) if kind == "env" else None

    def mark(self) -> object:
        return None

    def handed_out(self, entry: ServerEntry, references: Iterable[str], /) -> None:
        pass


class LookedUp:
    """The values of an entry that are looked up, as they are now.

    `wanted` are the names with what is written for them; `note` is told each secret.
    """

    def __init__(
        self,
        entry: ServerEntry,
        wanted: Mapping[str, str],
        source: SecretSource,
        note: Callable[[Iterable[str]], None],
    ) -> None:
        self._entry = entry
        self._wanted = wanted
        self._source = source
        self._note = note
        # An environment stays as it is; only a vault changes.
        self.can_change = any("vault:" in text for text in wanted.values())
        self._mark: object = None
        self._values: dict[str, str] | None = None if wanted else {}
        self._first: dict[str, str] | None = self._values

    async def values(self) -> Mapping[str, str]:
        """What they are now. Raises a fault that names the server."""
        if self._values is None or self._may_have_changed():
            # Taken before: what changes meanwhile is then looked up again.
            mark = self._source.mark()
            values, found = await asyncio.to_thread(self._look_up)
            self._note(_forms_of(found.values()))
            self._source.handed_out(self._entry, found)
            self._values, self._mark = values, mark
            if self._first is None:
                self._first = self._values
        return self._values

    async def are_outdated(self) -> bool:
        """Whether they are not what they were at first. Where that cannot be known, they are."""
        if self._may_have_changed():
            mark = self._source.mark()
            try:
                await self.values()
            except Fault:
                # Whoever runs goes on with what it has, and does not ask at each call.
                self._mark = mark
        return self._values != self._first

    def _may_have_changed(self) -> bool:
        return self.can_change and self._source.mark() != self._mark

    def _look_up(self) -> tuple[dict[str, str], dict[str, str]]:
        """The values by their names, and the secrets in them by their references."""
        found: dict[str, str] = {}
        values: dict[str, str] = {}
        for name, text in self._wanted.items():

            def look_up(reference: str, name: str = name) -> str:
                found[reference] = value = self._value(name, reference)
                return value

            values[name] = filled(text, look_up)
        return values, found

    def _value(self, name: str, reference: str) -> str:
        try:
            value = self._source.resolve(self._entry, reference)
        except Fault as fault:
            raise Fault(
                fault.code,
                fault.reason,
                f"the secret `{name}` of `{self._entry.name}` cannot be had: {fault.message}",
                hint=fault.hint,
                private=fault.private,
            ) from None
        if not value:
            raise _missing(self._entry.name, name, reference)
        if "\0" in value or (self._entry.url and not value.isprintable()):
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "secret-invalid",
                f"the secret `{name}` of `{self._entry.name}` has characters that cannot be sent",
                hint="put it into the vault again, without line ends",
            )
        return value


def _forms_of(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        # `Bearer …` has a scheme before what is secret of it.
        yield from (value, value.split(" ")[-1])


def _missing(server: str, name: str, reference: str) -> Fault:
    kind, _, rest = reference.partition(":")
    return Fault(
        FaultCode.UNAUTHENTICATED,
        _MISSING,
        f"the secret `{name}` of `{server}` has no value",
        hint=f"set `{rest}`" if kind == "env" else f"switchboard vault put {shlex.quote(rest)}",
        details={"variable": rest} if kind == "env" else {},
    )


@contextmanager
def hints_for(session: Session | None) -> Generator[None]:
    """A missing variable may well be set, and not be handed on by the client."""
    try:
        yield
    except Fault as fault:
        variable = fault.details.get("variable")
        if fault.reason == _MISSING and variable and session and session.client.startswith(_CODEX):
            fault.hint = (
                f"set `{variable}`; Codex hands it on only if `env_vars` of"
                f' `[mcp_servers.switchboard]` in its `config.toml` names it: `["{variable}"]`'
            )
        raise
