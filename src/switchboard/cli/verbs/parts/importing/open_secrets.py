"""Secrets of a server where no reference to the vault can stand: its arguments and its address.

They stay in the file. What can stand there is a variable, in `config.toml`, which fills it in.
No value is told, of a secret or of what is beside it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from switchboard.core.privacy.redaction import redacted_text, redacted_words

_NO_LETTER = re.compile(r"[^A-Z0-9]+")


class OpenSecret(Struct, frozen=True, kw_only=True):
    """One that stands in the open, and the variable that could stand in its place."""

    # As its reader finds it: the option before it, its number, the parameter of an address.
    where: str
    variable: str

    @property
    def told(self) -> str:
        """What is wrong with it."""
        return f"{self.where} looks like a secret, and no reference to the vault can stand there"

    @property
    def remedy(self) -> str:
        """What to write."""
        return f"write `${{{self.variable}}}` for it in config.toml, and set that variable"


def open_secrets(name: str, fields: Mapping[str, Any]) -> Iterator[OpenSecret]:
    """The secrets in the arguments and the address of a server, as it is written in a file."""
    words = [str(each) for each in fields.get("args") or ()]
    before = ""
    for number, (word, clean) in enumerate(zip(words, redacted_words(words), strict=True), start=1):
        if word != clean and "${" not in word:
            option = word.partition("=")[0] if word.startswith("-") else before
            where = f"the value of `{option}`" if option else f"argument {number}"
            yield OpenSecret(where=where, variable=_variable(name, option or "secret"))
        before = word if word.startswith("-") and "=" not in word else ""
    url = str(fields.get("url") or "")
    if redacted_text(url) != url and "${" not in url:
        yield from _in_address(name, url)


def _in_address(name: str, url: str) -> Iterator[OpenSecret]:
    where = urlsplit(url)
    if "@" in where.netloc:
        variable = _variable(name, "login")
        yield OpenSecret(where="what stands before `@` in its address", variable=variable)
    for key, value in parse_qsl(where.query):
        alone = f"{where.scheme}://host/?{key}={value}"
        if redacted_text(alone) != alone:
            told = f"the value of `{key}` in its address"
            yield OpenSecret(where=told, variable=_variable(name, key))
    path = f"{where.scheme}://host{where.path}"
    if redacted_text(path) != path:
        yield OpenSecret(where="a part of its address", variable=_variable(name, "secret"))


def _variable(name: str, key: str) -> str:
    """A variable that says whose it is; letters and digits, and none of them first."""
    found = _NO_LETTER.sub("_", f"{name}_{key.lstrip('-')}".upper()).strip("_")
    return f"_{found}" if found[:1].isdigit() else found
