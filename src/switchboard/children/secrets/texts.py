"""What of a server's entry is looked up when it is started or reached, and which secrets it takes.

A value is a reference as a whole (`env:NAME`, `vault:mcp/…`), or a text of `config.toml` with
`${vault:mcp/…}` in it.
"""

import re
from collections.abc import Callable, Iterator

from switchboard.children.schema import ServerEntry
from switchboard.config.placeholders import fill_vault, vault_references_in
from switchboard.vault.references import ENV_NAME, ENV_PATTERN, HEADER_PATTERN

_WHOLE = rf"env:{ENV_NAME}|vault:(?:{ENV_PATTERN}|{HEADER_PATTERN})"


def is_reference(text: str) -> bool:
    """Whether a value stands for a secret as a whole."""
    return text.startswith(("env:", "vault:")) and re.fullmatch(_WHOLE, text) is not None


def secret_variables(entry: ServerEntry) -> dict[str, str]:
    """The variables of a stdio server that are looked up, with what they are written as."""
    return {
        **entry.secret_env,
        **{name: text for name, text in entry.env.items() if f"env.{name}" in entry.templates},
    }


def injected_secrets(entry: ServerEntry) -> dict[str, str]:
    """What is put on at the edge for a server, by the references.

    Not by variables: two references may share a name, and each belongs to its own hosts.
    """
    return {each.inject: each.inject for each in entry.egress if each.inject}


def secret_headers(entry: ServerEntry) -> dict[str, str]:
    """The headers of a remote server that are looked up, with what they are written as."""
    return {
        name: text
        for name, text in entry.headers.items()
        if is_reference(text) or f"headers.{name}" in entry.templates
    }


def references_of(entry: ServerEntry) -> tuple[str, ...]:
    """Every secret that a server asks for, each once."""
    texts = [*entry.secret_env.values()]
    texts += [text for text in entry.headers.values() if is_reference(text)]
    logins = (entry.auth, *(each.auth for each in entry.accounts))
    texts += [auth.client_secret_ref for auth in logins if auth and auth.client_secret_ref]
    texts += [each.inject for each in entry.egress if each.inject]
    found = dict.fromkeys(texts)
    for place in entry.templates:
        field, _, name = place.partition(".")
        text = (entry.env if field == "env" else entry.headers)[name]
        found |= dict.fromkeys(vault_references_in(text))
    return tuple(found)


def grants_asked_by(entry: ServerEntry) -> tuple[str, ...]:
    """Everything of its user's that a server of a workspace has to be given: also each `${VAR}`."""
    variables = (f"env:{name}" for names in entry.filled.values() for name in names)
    return tuple(dict.fromkeys((*references_of(entry), *variables)))


def filled(text: str, look_up: Callable[[str], str]) -> str:
    """A value with the secrets in it."""
    return look_up(text) if is_reference(text) else fill_vault(text, look_up)


def texts_with_secrets(entry: ServerEntry) -> Iterator[tuple[str, str]]:
    """Everything of an entry that is looked up, by name."""
    yield from (secret_headers(entry) if entry.url else secret_variables(entry)).items()
    yield from injected_secrets(entry).items()
