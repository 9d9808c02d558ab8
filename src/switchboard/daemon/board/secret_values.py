"""The values that a configuration makes secrets, as far as they are known before anything starts.

What references stand for is looked up at a start, or for a request, and noted there.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import is_reference
from switchboard.children.starting.runner_variables import is_of_runner
from switchboard.core.origins import THE_USERS
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.core.privacy.secrets import SecretBook
from switchboard.ipc.environment import BASE_NAMES
from switchboard.providers.table import configured
from switchboard.settings.sections import Settings

# What stands before the host of an address, wherever in a text.
_LOGIN = re.compile(r"(?:^|//)([^/@\s,]+)@")


class BoardSecrets:
    """What nobody may be told of a board, and of the children that it shares."""

    def __init__(self, books: Callable[[], Iterable[SecretBook]]) -> None:
        self._books = books

    def learn(self, settings: Settings, environ: Mapping[str, str]) -> None:
        """Another configuration is served."""
        values, written = secret_values(settings, environ), written_values(settings)
        for book in self._books():
            book.learn(values)
            book.learn_written(written)

    def __call__(self, text: str) -> str:
        """A text without it."""
        for book in self._books():
            text = book(text)
        return text

    def in_question(self, text: str) -> str:
        """The same for a person who is asked, who sees what a repository has written."""
        for book in self._books():
            text = book.in_question(text)
        return text


def secret_values(settings: Settings, environ: Mapping[str, str]) -> set[str]:
    """Every value that nobody may be told."""
    names = set(settings.variables)
    found: set[str] = set()
    for entry in settings.servers:
        if entry.origin.scope in THE_USERS:
            found.update(_of_server(entry))
        if entry.inherit_env:
            names.update(filter(is_secret_name, environ))
    for source in configured(settings):
        own = source.secrets(settings)
        names |= own.variables
        found |= own.values
    found.update(_logins_in(environ))
    # `${HOME}/x` tells nothing that is hidden elsewhere.
    values = (environ.get(name, "") for name in names - {*BASE_NAMES})
    return found | {value for value in values if not _is_place(value)}


def written_values(settings: Settings) -> set[str]:
    """What the files of a repository give as secrets: their authors know it, and chose it."""
    found: set[str] = set()
    for entry in settings.servers:
        if entry.origin.scope not in THE_USERS:
            found.update(_of_server(entry))
    return found.union(*(source.secrets(settings).written for source in configured(settings)))


def _logins_in(environ: Mapping[str, str]) -> Iterator[str]:
    """The logins at proxies and registries, which servers see without having named them."""
    for name, value in environ.items():
        if name not in PROXY_NAMES and not is_of_runner(name):
            continue
        if is_secret_name(name) or name.upper().endswith("_AUTH"):
            yield value
        for login in _LOGIN.findall(value):
            for form in {login, _decoded(login)}:
                user, _, password = form.partition(":")
                yield from (form, password)
                # Whoever has the name of the account there would have every path of theirs hidden.
                if user not in environ.get("HOME", "").split(os.sep):
                    yield user


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # noqa: PLC0415 - few have remote servers, or such logins

    return unquote(text)


def _is_place(value: str) -> bool:
    """Whether it tells where something is. Who is asked about a path has to see it."""
    return os.path.isabs(value) and os.path.lexists(value)


def _of_server(entry: ServerEntry) -> Iterator[str]:
    yield from (value for name, value in entry.env.items() if is_secret_name(name))
    for name, value in entry.headers.items():
        if is_secret_name(name) and not is_reference(value):
            # An `Authorization` has a scheme before what is secret of it.
            yield from (value, value.split(" ")[-1])
    if entry.url:
        from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - few have remote servers

        if password := urlsplit(entry.url).password:
            yield from (password, unquote(password))
