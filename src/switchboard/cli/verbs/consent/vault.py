"""`switchboard vault`: puts secrets away, and tells everything of them but their values."""

from collections.abc import Iterator

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
from switchboard.cli.render import hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.cli.verbs.parts.team.team_database import DATABASE
from switchboard.cli.verbs.parts.vault.input import passphrase_from, read_value
from switchboard.cli.verbs.parts.vault.reports import (
    ListedSecret,
    VaultDeleteReport,
    VaultDoctorReport,
    VaultListReport,
    VaultPutReport,
    VaultRekeyReport,
    VaultRotateReport,
)
from switchboard.cli.verbs.parts.vault.state import state_of
from switchboard.cli.verbs.parts.vault.unlocking import lock, unlock
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultStore
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.sections import Settings
from switchboard.vault.keys.sources import VaultKeys
from switchboard.vault.opening import open_file_vault, open_vault, vault_folder
from switchboard.vault.options import KeyChoice, VaultOptions
from switchboard.vault.references import (
    FORMS,
    INTERNAL,
    SCHEME,
    SecretReference,
    check_name,
    of_person,
    parse_reference,
)
from switchkit.cli.usage import Option, Usage, UsageError, Word

_ACTIONS = ("put", "list", "delete", "rotate", "unlock", "lock", "doctor")
_OF_ROTATE = ("key", "values", "team")
_KEYS: tuple[KeyChoice, ...] = ("keychain", "key-file", "own-key-file", "passphrase")

USAGE = Usage(
    verb="vault",
    summary="Keep secrets out of files: put, list and delete them, and change their key.",
    words=(
        Word(
            name="ACTION",
            about="what to do; without one, `list`",
            optional=True,
            choices=_ACTIONS,
        ),
        Word(
            name="REFERENCE",
            about=f"such as `{FORMS[0]}`",
            optional=True,
            many=True,
            is_name=True,
        ),
    ),
    options=(
        Option(name="key", value="WHERE", about="rotate: where the new key is", choices=_KEYS),
        Option(name="values", about="rotate: re-encrypt every value, too"),
        Option(name="team", about="rotate: the values of a team, closed with its first secret"),
        Option(name="person", value="SUBJECT", about="put, delete: the secret of one of a team"),
        Option(name="passphrase-fd", value="N", about="read the passphrase from a descriptor"),
    ),
    details=(
        "A value is typed at a prompt or comes on stdin, never on the command line, and is never\n"
        f"shown. A reference is one of: {', '.join(FORMS)}.\n"
        "In a configuration it has `vault:` before it.\n"
        "A vault with a passphrase is opened for the daemon with `unlock`, which asks for it or\n"
        "reads it from stdin; the daemon forgets it when it ends, or with `lock`."
    ),
    examples=(
        "switchboard vault put mcp/github/env/GITHUB_TOKEN",
        'printf %s "$TOKEN" | switchboard vault put mcp/linear/header/Authorization',
        "switchboard vault list",
        "switchboard vault rotate --key keychain",
        "switchboard vault rotate --team",
        "switchboard vault unlock",
    ),
)


def run(request: CommandRequest) -> Report:
    action, *rest = request.arguments.words or ("list",)
    if action not in ("put", "delete") and rest:
        raise UsageError(f"`vault {action}` takes no reference")
    if action in ("put", "delete") and not rest:
        raise UsageError("`REFERENCE` is missing", f"switchboard vault {action} {FORMS[0]}")
    if action != "rotate" and any(map(request.arguments.has, _OF_ROTATE)):
        raise UsageError("`--key`, `--values` and `--team` are for `vault rotate`")
    settings = settings_for(request)
    match action:
        case "put":
            return _put(request, settings, rest)
        case "list":
            secrets = tuple(_listed(settings, _open(request, settings)))
            if not request.arguments.words and not request.talk.is_silent:
                request.talk.say(
                    hint(request.talk.style, f"switchboard vault {'|'.join(_ACTIONS)}")
                )
            return VaultListReport(secrets=secrets)
        case "delete":
            return _delete(request, settings, rest)
        case "rotate":
            return _rotate(request, settings)
        case "unlock" | "lock":
            return unlock(request, settings) if action == "unlock" else lock(request)
        case _:
            return _doctor(request, settings)


def names(request: CommandRequest) -> Iterator[str]:
    """What a shell may complete: what there is, and what servers ask for."""
    settings = settings_for(request)
    found = {
        entry.reference
        for entry in open_vault(settings.home, settings.vault, request.environ).entries()
    }
    for entry in entries(settings):
        wanted = (each for each in references_of(entry) if each.startswith(SCHEME))
        found.update(each.removeprefix(SCHEME) for each in wanted)
    yield from sorted(found)


def _open(request: CommandRequest, settings: Settings) -> VaultStore:
    if database := request.environ.get(DATABASE):
        # Few have a team, and the driver of a database takes a while to load.
        from switchboard.daemon.team.desk import team_vault  # noqa: PLC0415

        return team_vault(database, request.environ)
    return _open_own(request, settings)


def _open_own(request: CommandRequest, settings: Settings) -> VaultStore:
    return open_vault(settings.home, settings.vault, request.environ, ask=passphrase_from(request))


def _put(request: CommandRequest, settings: Settings, words: list[str]) -> Report:
    reference = _reference(words[0])
    if len(words) > 1 or "=" in reference.key:
        raise UsageError(
            "a value is never typed on the command line: the shell keeps it, and others see it",
            f"type `switchboard vault put {reference.text.partition('=')[0]}` and be asked for it",
        )
    value = read_value(reference.text)
    _check_value(reference, value)
    store = _open(request, settings)
    name = _whose(request, settings, reference.text)
    is_new = all(entry.reference != name for entry in store.entries())
    store.put(name, value)
    holders = tuple(_holders(settings, reference.text))
    return VaultPutReport(
        reference=reference.text,
        is_new=is_new,
        holders=holders,
        next_step="" if holders else _how_to_name(reference, settings),
    )


def _whose(request: CommandRequest, settings: Settings, reference: str) -> str:
    """The name that a vault knows a secret by: that of a person is below their own."""
    subject = request.arguments.one("person")
    if not subject:
        return reference
    if not request.environ.get(DATABASE) or not settings.people.is_on:
        raise UsageError(
            "`--person` is for a team whose people are told apart",
            f"set {DATABASE}, and `issuer` in `[people]` of `config.toml`",
        )
    from switchboard.people.token_door import person_key  # noqa: PLC0415 - as above

    return of_person(person_key(settings.people.issuer, subject), reference)


def _check_value(reference: SecretReference, value: str) -> None:
    if "\0" in value:
        raise UsageError("the value has a NUL in it, which no variable can have")
    if reference.kind == "header" and not value.isprintable():
        raise UsageError("the value has a line end or another character that no header can have")


def _reference(word: str) -> SecretReference:
    try:
        return parse_reference(word)
    except Fault as fault:
        # The word is not repeated: it may be a value.
        raise UsageError(fault.message, f"a reference is one of: {', '.join(FORMS)}") from None


def _delete(request: CommandRequest, settings: Settings, words: list[str]) -> Report:
    store = _open(request, settings)
    names = [word.removeprefix(SCHEME) for word in words]
    for name in names:
        # A login can be forgotten here too, by the name that the list shows.
        if name.startswith(INTERNAL):
            check_name(name)
        else:
            _reference(name)
    deleted = [name for name in names if store.delete(_whose(request, settings, name))]
    return VaultDeleteReport(
        deleted=tuple(deleted), missing=tuple(each for each in names if each not in deleted)
    )


def _rotate(request: CommandRequest, settings: Settings) -> Report:
    if request.arguments.has("team"):
        return _rekey(request)
    if settings.vault.engine != "file":
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "vault-elsewhere",
            "the vault is on a server, which has keys of its own",
        )
    ask = passphrase_from(request)
    store = open_file_vault(settings.home, settings.vault, ask=ask)
    choice: KeyChoice | None = next(
        (key for key in _KEYS if key == request.arguments.one("key")), None
    )
    note = store.note
    if choice is None and note is not None:
        # In the same place, whatever would be chosen for a new vault today.
        choice = note.kind
    options = settings.vault if choice is None else _with_key(settings, choice)
    if request.arguments.has("values"):
        store.rotate_data_key()
    rotated = store.rotate_key(VaultKeys(vault_folder(settings.home), options, ask))
    return VaultRotateReport(
        rotated=rotated,
        is_deep=request.arguments.has("values"),
        key=state_of(settings, store, deep=False).key,
    )


def _rekey(request: CommandRequest) -> Report:
    """What is closed with an older secret of a team is closed with its first."""
    if request.arguments.has("key") or request.arguments.has("values"):
        raise UsageError("the key of a team is its secret: `--team` stands alone")
    database = request.environ.get(DATABASE, "")
    if not database:
        raise UsageError(f"which team is not known: set {DATABASE}, and its secret")
    # What a team needs is loaded by those who have one.
    from switchboard.daemon.team.desk import rekey_team  # noqa: PLC0415

    return VaultRekeyReport(changed=rekey_team(database, request.environ))


def _with_key(settings: Settings, choice: KeyChoice) -> VaultOptions:
    if choice == "key-file" and not settings.vault.key_file:
        raise UsageError(
            "no key file is named",
            "set `key_file` in `[vault]` of `config.toml`, or SWITCHBOARD_VAULT_KEY_FILE",
        )
    return replace(settings.vault, key=choice)


def _doctor(request: CommandRequest, settings: Settings) -> Report:
    state = state_of(settings, _open_own(request, settings), deep=True)
    return VaultDoctorReport(
        engine=state.engine,
        place=state.place,
        key=state.key,
        key_kind=state.key_kind,
        secrets=state.secrets,
        problems=tuple(problem for problem, _ in state.problems),
        hints=tuple(fix for _, fix in state.problems),
    )


def _listed(settings: Settings, store: VaultStore) -> Iterator[ListedSecret]:
    for entry in store.entries():
        yield ListedSecret(
            reference=entry.reference,
            created_at=entry.created_at,
            changed_at=entry.changed_at,
            used_at=entry.used_at,
            is_login=entry.reference.startswith(INTERNAL),
            holders=tuple(_holders(settings, entry.reference)),
        )


def _holders(settings: Settings, reference: str) -> Iterator[str]:
    """Who may have a secret: servers of the user's own files, and what was trusted with it."""
    wanted = f"{SCHEME}{reference}"
    for entry in entries(settings):
        if not entry.fingerprint and _asks_for(entry, wanted):
            yield f"your `{entry.name}`"
    for workspace, name in read_trust(settings.home, []).holders(wanted):
        yield f"`{name}` in {workspace}"


def _asks_for(entry: ServerEntry, reference: str) -> bool:
    return reference in references_of(entry)


def _how_to_name(reference: SecretReference, settings: Settings) -> str:
    """What to write so that a server gets it."""
    waiting = [each.name for each in settings.untrusted if _asks_for(each, SCHEME + reference.text)]
    if waiting:
        return f"`{waiting[0]}` of this workspace asks for it: switchboard trust {waiting[0]}"
    whole = f"{SCHEME}{reference.text}"
    if reference.kind == "env":
        return f'name it in `secret_env` of `{reference.server}`: "{reference.key}": "{whole}"'
    if reference.kind == "header":
        return f'name it in `headers` of `{reference.server}`: "{reference.key}": "{whole}"'
    return f'name it in `auth` of `{reference.server}`: "client_secret_ref": "{whole}"'
