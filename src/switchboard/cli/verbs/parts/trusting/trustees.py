"""What of a workspace waits for trust, with everything that trust would let happen."""

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
from switchboard.cli.render import shown_origin
from switchboard.cli.verbs.parts.servers import (
    ListedServer,
    entries,
    listed_servers,
    program_of,
    whole_target_of,
)
from switchboard.config.problems import shown_path
from switchboard.providers.source import ItemKind
from switchboard.providers.table import configured
from switchboard.settings.consent.named_files import is_runner
from switchboard.settings.consent.sealed_files import hashed_files
from switchboard.settings.sections import Settings
from switchboard.settings.trust import grant_for
from switchkit.cli.columns import visible
from switchkit.cli.style import Style

_ANYTHING = "other files of this workspace may decide what it runs, and a change does not ask again"
_SHARED = {"session": "one session", "workspace": "this workspace", "user": "all your workspaces"}


class Trustee(Struct, frozen=True, kw_only=True):
    """Something of the workspace that runs only when it is trusted. Nothing is left out."""

    name: str
    kind: ItemKind
    state: Literal["trusted", "waiting"]
    runs: str
    # What trust is bound to.
    fingerprint: str = ""
    origin: str = ""
    # The program that the command means now, and the folder that it is started in.
    program: str = ""
    folder: str = ""
    # As they are written: `${VAR}` is filled when it starts.
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    # Where one would log in, with which client.
    login: tuple[str, ...] = ()
    inherits_env: bool = False
    # Who shares the running server.
    shared_by: str = ""
    # The files whose change asks again.
    files: tuple[str, ...] = ()
    # What else there is to know before it is trusted.
    details: tuple[str, ...] = ()
    # What its sandbox opens; empty where nothing confines it.
    sandbox: str = ""
    # How a model chooses its calls; empty where none does.
    natural_language: str = ""
    # Why it cannot be used, trusted or not.
    left_out: str = ""
    # The secrets that it asks for, and where they would go.
    secrets: tuple[str, ...] = ()
    secrets_to: str = ""
    # Whether it takes the place of a server of the user's own.
    replaces: bool = False

    @property
    def waits(self) -> bool:
        """Whether it could be trusted now."""
        return self.state == "waiting" and not self.left_out

    def about(self, style: Style) -> Iterator[str]:
        """Everything of it, a line each."""
        yield f"{style.bold(visible(self.name))} ({self.origin})"
        if self.replaces:
            yield style.yellow(f"  replaces your own `{visible(self.name)}` here")
        yield f"  runs      {visible(self.runs)}"
        for label, text in self._facts():
            yield f"  {label:9} {visible(text)}"
        if self.fingerprint:
            yield f"  print     {self.fingerprint}"

    def reminders(self) -> Iterator[str]:
        """What should be known of one that is trusted already."""
        if self.replaces:
            yield f"`{self.name}` replaces your own `{self.name}` here"
        for secret in self.secrets:
            yield f"`{self.name}` has the secret {secret}, {self.secrets_to}"
        if self.sandbox:
            yield f"sandbox of {self.name}: {self.sandbox}"
        if self.natural_language:
            yield f"natural language of {self.name}: {self.natural_language}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        if self.program:
            yield "program", self.program
        if self.folder:
            yield "folder", self.folder
        yield from (("variable", f"{name}={value}") for name, value in self.env.items())
        yield from (("header", f"{name}: {value}") for name, value in self.headers.items())
        yield from (("login", each) for each in self.login)
        if self.inherits_env:
            yield "inherits", "every variable of yours, secrets as well"
        yield from (("secret", f"{each}, {self.secrets_to}") for each in self.secrets)
        if self.shared_by:
            yield "shared by", self.shared_by
        if self.kind == "server" and not self.headers and not self.sandbox and self.program:
            yield "sandbox", "none: it may do whatever you may"
        elif self.sandbox:
            yield "sandbox", self.sandbox
        yield from (("file", each) for each in self.files)
        yield from (("also", each) for each in self.details)
        if self.natural_language:
            yield "model", self.natural_language


def trustees(settings: Settings, environ: Mapping[str, str]) -> Iterator[Trustee]:
    """Everything of the workspace that is trusted or waits."""
    listed = listed_servers(settings, whole_target_of)
    for entry, server in zip(entries(settings), listed, strict=True):
        if server.trust != "own":
            yield _of_server(entry, server, settings, environ)
    for source in configured(settings):
        for item in source.trust_items(settings):
            if item.trust != "own":
                place = item.origin
                yield Trustee(
                    name=item.name,
                    kind=item.kind,
                    state=item.trust,
                    runs=item.runs,
                    fingerprint=item.fingerprint,
                    origin=shown_origin(place.scope, place.path, place.line, settings.workspace),
                    details=item.details,
                    sandbox=visible(item.sandbox),
                    # One without a fingerprint is nothing that could be trusted.
                    left_out="" if item.fingerprint else item.left_out,
                )


def _of_server(
    entry: ServerEntry, server: ListedServer, settings: Settings, environ: Mapping[str, str]
) -> Trustee:
    is_local = entry.transport == "stdio"
    waits = server.trust == "waiting"
    return Trustee(
        name=server.name,
        kind="server",
        state="waiting" if waits else "trusted",
        runs=server.target,
        fingerprint=entry.fingerprint,
        origin=server.origin,
        program=(program_of(entry, environ) or "not found") if is_local else "",
        folder=shown_path(entry.cwd, user_home=settings.user_home) if is_local else "",
        # Values of one that is trusted are filled by now, and nobody's business any more.
        env=dict(entry.env) if waits else dict.fromkeys(entry.env, "…"),
        headers=dict(entry.headers) if waits else dict.fromkeys(entry.headers, "…"),
        login=tuple(_logins(entry)),
        inherits_env=entry.inherit_env,
        shared_by=_SHARED[entry.scope],
        files=hashed_files(entry.seal, settings.workspace) if entry.seal else (),
        details=(_ANYTHING,) if entry.seal and is_runner(entry.seal) else (),
        sandbox=server.sandbox,
        natural_language=server.natural_language,
        left_out=server.left_out,
        secrets=references_of(entry),
        secrets_to=_destination(entry, environ),
        replaces=server.name in settings.replaced,
    )


def _logins(entry: ServerEntry) -> Iterator[str]:
    for auth in (entry.auth, *(each.auth for each in entry.accounts)):
        if auth is not None:
            places = (auth.issuer_url, auth.metadata_url, auth.authorization_url, auth.token_url)
            scopes = f", scopes {' '.join(auth.scopes)}" if auth.scopes else ""
            yield f"client {auth.client_id} at {', '.join(filter(None, places))}{scopes}"


def _destination(entry: ServerEntry, environ: Mapping[str, str]) -> str:
    """Where the secrets of a server go, in words."""
    if entry.url:
        return f"to be sent to {visible(grant_for(entry, environ).to)}"
    return f"to be given to {visible(whole_target_of(entry))}"
