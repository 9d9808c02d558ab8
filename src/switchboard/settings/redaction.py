"""Taking out of a value what looks like a secret, before a person or a log sees it."""

import re
from typing import Any, cast

from switchboard.config.spots import KeyPath
from switchboard.core.secret_names import is_secret_name
from switchboard.core.secrets import REDACTED

# The names of headers tell nothing of their values.
_ALWAYS = frozenset({"headers"})
_USERINFO = r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#@]+@"
_QUERY = r"([?&])([^=&#\s]+)=([^&#\s]+)"


def redacted(value: Any, at: KeyPath) -> Any:
    """The value of a key with everything that looks like a secret taken out."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: redacted(inner, (*at, name)) for name, inner in members.items()}
    if isinstance(value, list):
        return _arguments(cast("list[Any]", value))
    if not isinstance(value, str) or not value:
        return value
    holder, name = ("", *map(str, at))[-2:]
    if holder in _ALWAYS or (holder == "env" and is_secret_name(name)):
        return REDACTED
    return redacted_text(value)


def redacted_text(text: str) -> str:
    """The text without the credentials of the URLs in it."""
    if "://" not in text:
        return text
    text = re.sub(_USERINFO, rf"\1{REDACTED}@", text)
    return re.sub(_QUERY, _parameter, text)


def _parameter(found: re.Match[str]) -> str:
    secret = is_secret_name(_plain(found[2])) or found[2].casefold() == "key"
    return f"{found[1]}{found[2]}={REDACTED if secret else found[3]}"


def _arguments(items: list[Any]) -> list[Any]:
    """`--token=x` and `--token x` without the `x`."""
    clean: list[Any] = []
    expected = False
    for item in items:
        if not isinstance(item, str):
            clean.append(item)
            continue
        name, equals, value = item.partition("=")
        if expected and not item.startswith("-"):
            clean.append(REDACTED)
        elif equals and value and is_secret_name(_plain(name)):
            clean.append(f"{name}={REDACTED}")
        else:
            clean.append(redacted_text(item))
        expected = item.startswith("-") and not equals and is_secret_name(_plain(item))
    return clean


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_")
