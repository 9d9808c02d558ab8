"""Which servers of which workspace their user has agreed to, and which folders as a whole."""

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import grants_asked_by
from switchboard.config.placeholders import Unfilled, expand
from switchboard.providers.table import configured
from switchboard.settings.consent.looking import one_look
from switchboard.settings.consent.trust_record import (
    UNBOUND,
    SecretGrant,
    TrustRecord,
    changed_record,
    is_unbound,
)
from switchboard.settings.fingerprints import fingerprint, in_development
from switchboard.settings.sections import Settings

_PORTS = {"http": 80, "https": 443}


class Trusted(Struct, frozen=True, kw_only=True):
    """One thing whose trust was changed."""

    name: str
    kind: str
    fingerprint: str
    workspace: str


def granted_to(entry: ServerEntry, workspace: str, record: TrustRecord) -> tuple[str, ...]:
    """The secrets that a server may have of those that were given.

    They were given to exactly what it runs, and to be sent to one origin: what fills `${NAME}` in
    an address must not lead them elsewhere.
    """
    grant = record.grant(workspace, entry.fingerprint)
    if grant is None or grant.to != origin_of(entry.url):
        return ()
    return grant.references


def origin_of(url: str) -> str:
    """Scheme, host and port of an address; nothing for none."""
    if not url:
        return ""
    from urllib.parse import urlsplit  # noqa: PLC0415 - few have remote servers

    parts = urlsplit(url)
    try:
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        port = None
    return f"{parts.scheme}://{parts.hostname}:{port}"


def still_trusted(entry: ServerEntry, workspace: str) -> bool:
    """Whether a server would run now what it would have run when the settings were loaded.

    Cheap: only the files that its command line names are read again. To be asked just before a
    start, because a script can change after trust. Servers that need no trust always are.
    """
    if not entry.fingerprint:
        return True
    if entry.seal is None:
        return False
    return not entry.seal.binding or fingerprint(entry.seal, workspace) == entry.fingerprint


def trust(
    settings: Settings,
    names: Iterable[str] | None = None,
    *,
    prints: Container[str] | None = None,
    also: Iterable[ServerEntry] = (),
    environ: Mapping[str, str] = {},
    is_dev: bool = False,
) -> list[Trusted]:
    """Trust servers, command tools and the project of the workspace, all without `names`.

    With `prints` only what has one of these fingerprints, which is what somebody was shown; with
    `is_dev` those of servers that their user writes.
    `also` are untrusted servers of a scope above the settings: of an agent or a skill. With trust
    they are given the secrets that they ask for; `environ` says where addresses lead.
    """
    wanted = None if names is None else set(names)
    done: list[Trusted] = []
    above = [(entry.name, "server", entry.fingerprint, grant_for(entry, environ)) for entry in also]
    known = {(entry.name, entry.fingerprint): entry for entry in (*settings.untrusted, *also)}
    written = written_prints(settings, also) if is_dev else {}
    from switchboard.settings.consent.trusted_parts import trusted_now  # noqa: PLC0415 - as there

    with one_look(), changed_record(settings.home) as record:
        for name, kind, print_, grant in (*_untrusted(settings, environ), *above):
            entry = known.get((name, print_))
            if is_dev:
                print_ = written.get((name, print_), UNBOUND)  # noqa: PLW2901
            if is_unbound(print_):
                continue
            if (wanted is None or name in wanted) and (prints is None or print_ in prints):
                parts = trusted_now(entry, settings.workspace)
                record.add(settings.workspace, print_, name, grant, parts)
                done.append(
                    Trusted(name=name, kind=kind, fingerprint=print_, workspace=settings.workspace)
                )
        if done:
            record.save()
    return done


def written_prints(
    settings: Settings, also: Iterable[ServerEntry] = ()
) -> dict[tuple[str, str], str]:
    """The fingerprints of what waits as something that its user writes.

    By its name and its own, which it has in common with everything that is too large to have one.
    """
    servers = {
        (entry.name, entry.fingerprint): in_development(entry, settings.workspace).fingerprint
        for entry in (*settings.untrusted, *also)
    }
    return servers | {
        (item.name, item.fingerprint): item.written
        for source in configured(settings)
        for item in source.trust_items(settings)
        if item.written
    }


def untrust(settings: Settings, names: Iterable[str] | None = None) -> list[Trusted]:
    """Take trust back, from everything of the workspace without `names`."""
    with changed_record(settings.home) as record:
        wanted = record.names(settings.workspace) if names is None else set(names)
        done = [
            Trusted(name=name, kind="", fingerprint=print_, workspace=settings.workspace)
            for name in sorted(wanted)
            for print_ in record.remove(settings.workspace, name)
        ]
        if done:
            record.save()
    return done


def trust_folder(home: str, workspace: str, *, identity: str = "") -> bool:
    """Trust the folder as a whole, if it is the one of this identity. Says if that is new."""
    with changed_record(home) as record:
        if record.trusts_folder(workspace) or not record.trust_folder(workspace, identity):
            return False
        record.save()
    return True


def untrust_folder(home: str, workspace: str) -> bool:
    """Take the trust in the folder back; what was trusted by name in it stays. Says if it was."""
    with changed_record(home) as record:
        was_trusted = record.untrust_folder(workspace)
        if was_trusted:
            record.save()
    return was_trusted


def grant_for(entry: ServerEntry, environ: Mapping[str, str]) -> SecretGrant:
    """What a server would be given with trust, and where it would be sent."""
    url = entry.url
    with suppress(Unfilled):
        url = expand(url, environ) if entry.origin.path.endswith(".toml") else url
    return SecretGrant(references=grants_asked_by(entry), to=origin_of(url))


def _untrusted(
    settings: Settings, environ: Mapping[str, str]
) -> list[tuple[str, str, str, SecretGrant | None]]:
    servers: list[tuple[str, str, str, SecretGrant | None]] = [
        (entry.name, "server", entry.fingerprint, grant_for(entry, environ))
        for entry in settings.untrusted
    ]
    return servers + [
        (item.name, item.kind, item.fingerprint, None)
        for source in configured(settings)
        for item in source.trust_items(settings)
        # What cannot be bound to what it holds now cannot be trusted either.
        if item.trust == "waiting" and item.fingerprint
    ]
