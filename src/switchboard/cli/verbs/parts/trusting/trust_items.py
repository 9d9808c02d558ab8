"""What of a workspace waits for trust, with everything that trust would let happen."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.environment import reaching_names
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
from switchboard.core.privacy.cleaning import blanks_counted, written_out
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.core.privacy.secrets import REDACTED
from switchboard.providers.source import ItemKind
from switchboard.providers.table import configured
from switchboard.settings.consent.looking import Unbound, landed, one_look, reached
from switchboard.settings.consent.sealed_files import data_files, hashed_files, why_whole
from switchboard.settings.consent.trust_record import is_unbound
from switchboard.settings.consent.wording import DEV, too_large_in_words, whole_in_words
from switchboard.settings.sections import Settings
from switchboard.settings.server_fields import OVERRIDES, SANDBOX, SERVER, SUITE
from switchboard.settings.trust import grant_for
from switchkit.cli.columns import visible, wrapped
from switchkit.cli.style import Style

_BESIDE = "other files that this code loads may change, and that does not ask again"
_TOO_MUCH = (
    "what this workspace names is too large to be looked through, or a pipe: name fewer files"
)
# What a text goes on with in its next row: the place of its label is empty.
_BELOW = " " * len(f"  {'':9} ")
# Which keys of a server have a line of their own. Every other key that trust is bound to is shown
# as it is written: see `_settings`.
_TOLD: dict[str, str] = {
    **dict.fromkeys(("command", "args", "url"), "runs"),
    "env": "env",
    "headers": "headers",
    "secret_env": "secrets",
    **dict.fromkeys(("auth", "accounts"), "login"),
    "cwd": "folder",
    "inherit_env": "inherits_env",
    "scope": "shared_by",
    **dict.fromkeys((*(field.name for field in SANDBOX), "limits"), "sandbox"),
    **dict.fromkeys(("egress", "egress_ask"), "sandbox"),
    **dict.fromkeys(("natural_language", "natural_only"), "natural_language"),
}
_NOTHING_BUT_A_KEY = (REDACTED, f"Bearer {REDACTED}", f"Basic {REDACTED}")
_SHARED = {"session": "one session", "workspace": "this workspace", "user": "all your workspaces"}


class TrustItem(Struct, frozen=True, kw_only=True):
    """Something of the workspace that runs only when it is trusted. Nothing is left out."""

    name: str
    kind: ItemKind
    state: Literal["trusted", "waiting", "changed"]
    runs: str
    # When it was trusted, and what has changed since; empty unless it waits for that reason.
    changed: str = ""
    # What trust is bound to.
    fingerprint: str = ""
    origin: str = ""
    # The program that the command means now, and the folder that it is started in.
    program: str = ""
    # Where the program lies if what the command means is a link.
    leads_to: str = ""
    folder: str = ""
    # As they are written: `${VAR}` is filled when it starts.
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    # Where one would log in, with which client.
    login: tuple[str, ...] = ()
    inherits_env: bool = False
    # Which values are filled with variables of the user, and with which.
    filled: dict[str, tuple[str, ...]] = {}
    # Everything else that is written of it and that trust is bound to.
    settings: dict[str, str] = {}
    # Who shares the running server.
    shared_by: str = ""
    # The files whose change asks again.
    files: tuple[str, ...] = ()
    # The files that it is given to work on, and that may change.
    data: tuple[str, ...] = ()
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
    # Those of its logins, which go elsewhere: each with where.
    login_secrets: dict[str, str] = {}
    # Whether it takes the place of a server of the user's own.
    replaces: bool = False

    @property
    def waits(self) -> bool:
        """Whether it could be trusted now."""
        return self.is_untrusted and not self.left_out

    @property
    def is_untrusted(self) -> bool:
        """Whether nobody has agreed to it as it is."""
        return self.state != "trusted"

    def about(self, style: Style) -> Iterator[str]:
        """Everything of it, a line each; where one takes several rows, none begins as another."""
        yield f"{style.bold(visible(self.name))} ({self.origin})"
        if self.replaces:
            yield style.yellow(f"  replaces your own `{visible(self.name)}` here")
        if self.changed:
            yield from map(style.yellow, _rows("changed", visible(self.changed), style))
        for label, text in (("runs", self.runs), *self._facts()):
            yield from _rows(label, _seen(text), style)
        if self.fingerprint:
            yield f"  fingerprint {self.fingerprint}"

    def reminders(self) -> Iterator[str]:
        """What should be known of one that is trusted already."""
        if self.replaces:
            yield f"`{self.name}` replaces your own `{self.name}` here"
        for secret in self.secrets:
            yield f"`{self.name}` has the secret {secret}, {self.secrets_to}"
        for secret, where in self.login_secrets.items():
            yield f"`{self.name}` has the secret {secret}, {where}"
        for place, names in self.filled.items():
            yield f"`{self.name}` has {place} filled with your {' and '.join(names)}"
        if DEV in self.details:
            yield f"`{self.name}` is trusted with --dev: {DEV}"
        if self.sandbox:
            yield f"sandbox of {self.name}: {self.sandbox}"
        if self.natural_language:
            yield f"natural language of {self.name}: {self.natural_language}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        if self.program:
            yield "program", self.program
        if self.leads_to:
            yield "leads to", self.leads_to
        if self.folder:
            yield "folder", self.folder
        yield from (("variable", f"{name}={value}") for name, value in self.env.items())
        yield from (("header", f"{name}: {value}") for name, value in self.headers.items())
        for place, names in self.filled.items():
            told = f"filled with your {' and '.join(names)}"
            yield "filled", f"{place}: {told}, {self.secrets_to}"
        yield from (("login", each) for each in self.login)
        if self.inherits_env:
            yield "inherits", "every variable of yours, secrets as well"
        yield from (("secret", f"{each}, {self.secrets_to}") for each in self.secrets)
        yield from (("secret", f"{each}, {where}") for each, where in self.login_secrets.items())
        if self.shared_by:
            yield "shared by", self.shared_by
        if self.kind == "server" and not self.headers and not self.sandbox and self.program:
            yield "sandbox", "none: it may do whatever you may"
        elif self.sandbox:
            yield "sandbox", self.sandbox
        yield from (("setting", f"{key} = {value}") for key, value in self.settings.items())
        yield from (("code", f"{each}: a change asks again") for each in self.files)
        yield from (("data", f"{each}: may change, and does not ask again") for each in self.data)
        yield from (("also", each) for each in self.details)
        if self.natural_language:
            yield "model", self.natural_language


def _rows(label: str, text: str, style: Style) -> Iterator[str]:
    line = f"  {label:9} {text}"
    return wrapped(line, style.columns, _BELOW) if style.columns else iter((line,))


def _seen(text: str) -> str:
    """The text with nothing in it that would hide what follows: no letters of nothing, no rows."""
    told = "".join(visible(letter) if letter < " " else letter for letter in text)
    return blanks_counted(written_out(told))


def trust_items(settings: Settings, environ: Mapping[str, str]) -> list[TrustItem]:
    """Everything of the workspace that is trusted or waits."""
    with one_look():
        return [*_items(settings, environ)]


def _items(settings: Settings, environ: Mapping[str, str]) -> Iterator[TrustItem]:
    listed = listed_servers(settings, whole_target_of)
    for entry, server in zip(entries(settings), listed, strict=True):
        if server.trust != "own":
            yield _of_server(entry, server, settings, environ)
    for source in configured(settings):
        for item in source.trust_items(settings):
            if item.trust != "own":
                place = item.origin
                yield TrustItem(
                    name=item.name,
                    kind=item.kind,
                    state=item.trust,
                    runs=item.runs,
                    fingerprint=item.fingerprint,
                    origin=shown_origin(place.scope, place.path, place.line, settings.workspace),
                    details=item.details,
                    sandbox=visible(item.sandbox),
                    # One without a fingerprint is nothing that could be trusted.
                    left_out=(_TOO_MUCH if is_unbound(item.fingerprint) else "")
                    or ("" if item.fingerprint else item.left_out),
                )


def _shown(name: str, value: str, *, whole: bool) -> str:
    """A value as whoever is to trust it sees it: whole, but for what can only be a key.

    A secret by its name alone may be what is run; one that has the shape of a key, too, is not.
    """
    if not whole:
        return "…"
    hidden = redacted_text(value)
    return hidden if is_secret_name(name) and hidden in _NOTHING_BUT_A_KEY else value


def _of_server(
    entry: ServerEntry, server: ListedServer, settings: Settings, environ: Mapping[str, str]
) -> TrustItem:
    is_local = entry.transport == "stdio"
    program = (program_of(entry, environ) or "") if is_local else ""
    waits = server.trust in ("waiting", "changed")
    return TrustItem(
        name=server.name,
        kind="server",
        state="trusted" if server.trust == "own" else server.trust,
        changed=server.changed,
        runs=server.target,
        fingerprint=entry.fingerprint,
        origin=server.origin,
        program=(program or "not found") if is_local else "",
        leads_to=_leads_to(program),
        folder=shown_path(entry.cwd, user_home=settings.user_home) if is_local else "",
        # Values of one that is trusted are filled by now, and nobody's business any more.
        env={name: _shown(name, value, whole=waits) for name, value in entry.env.items()},
        headers={name: _shown(name, value, whole=waits) for name, value in entry.headers.items()},
        login=tuple(_logins(entry)),
        inherits_env=entry.inherit_env,
        shared_by=_SHARED[entry.scope],
        files=hashed_files(entry.seal, settings.workspace) if entry.seal else (),
        data=data_files(entry.seal, settings.workspace) if entry.seal else (),
        filled=dict(entry.filled),
        settings=dict(_settings(entry, settings)),
        details=(
            *([DEV] if entry.seal is not None and entry.seal.is_dev else _beyond(entry, settings)),
            *_given(entry, environ),
        ),
        sandbox=server.sandbox,
        natural_language=server.natural_language,
        left_out=_unbound(entry, settings.workspace) or server.left_out,
        secrets=references_of(replace(entry, auth=None, accounts=())),
        secrets_to=_destination(entry, environ),
        login_secrets=dict(_login_secrets(entry)),
        replaces=server.name in settings.replaced,
    )


def _leads_to(program: str) -> str:
    """Where a link leads, which may have the name of another program."""
    try:
        path = landed(program)
        return path if os.path.islink(reached(program)) else ""
    except Unbound:
        return ""


def _settings(entry: ServerEntry, settings: Settings) -> Iterator[tuple[str, str]]:
    """What trust is bound to and no line of its own tells, by the rows of the table of keys."""
    for field in SERVER.fields:
        value = getattr(entry, field.name)
        is_said = value not in (SERVER.default(field), None, "stdio")
        if field.bound != "no" and field.name not in _TOLD and is_said:
            yield field.name, _written(value)
    suite = settings.suites.get(entry.name)
    for field in SUITE.fields if suite is not None else ():
        value = getattr(suite, field.name)
        if field.bound != "no" and field.name not in OVERRIDES and value != SUITE.default(field):
            yield f"suite {field.name}", _written(value)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _beyond(entry: ServerEntry, settings: Settings) -> Iterator[str]:
    """What may change although it was trusted, and what may not."""
    if entry.seal is None or entry.transport != "stdio":
        return
    if why := why_whole(entry.seal, settings.workspace):
        yield whole_in_words(why, entry.name)
    elif hashed_files(entry.seal, settings.workspace):
        yield _BESIDE


def _given(entry: ServerEntry, environ: Mapping[str, str]) -> Iterator[str]:
    """What it has of the user's shell without having asked for it."""
    if names := sorted(name for name in reaching_names(entry, environ) if environ.get(name)):
        yield f"it is given, of your shell: {', '.join(names)} (never one with a login in it)"


def _unbound(entry: ServerEntry, workspace: str) -> str:
    if not is_unbound(entry.fingerprint):
        return ""
    why = why_whole(entry.seal, workspace) if entry.seal is not None else ""
    return too_large_in_words(why, entry.name) if why else _TOO_MUCH


def _logins(entry: ServerEntry) -> Iterator[str]:
    for auth in (entry.auth, *(each.auth for each in entry.accounts)):
        if auth is not None:
            named = (auth.issuer_url, auth.metadata_url, auth.authorization_url)
            places = (*named, auth.token_url, auth.revocation_url)
            scopes = f", scopes {' '.join(auth.scopes)}" if auth.scopes else ""
            yield f"client {auth.client_id} at {', '.join(filter(None, places))}{scopes}"


def _login_secrets(entry: ServerEntry) -> Iterator[tuple[str, str]]:
    """The client secrets of a server, which its `url` never sees, and who is sent them."""
    for auth in (entry.auth, *(each.auth for each in entry.accounts)):
        if auth is not None and auth.client_secret_ref:
            found = f"whichever address {auth.metadata_url or auth.issuer_url} names"
            places = dict.fromkeys((auth.token_url or found, auth.revocation_url or found))
            yield auth.client_secret_ref, f"to be sent to {' and '.join(places)}, at logins"


def _destination(entry: ServerEntry, environ: Mapping[str, str]) -> str:
    """Where the secrets of a server go, in words."""
    if entry.url:
        return f"to be sent to {visible(grant_for(entry, environ).to)}"
    return f"to be given to {visible(whole_target_of(entry))}"
