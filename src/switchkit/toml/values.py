"""Keys and values as TOML writes them, each on one line."""

import json
import re
from datetime import date, datetime, time
from typing import Any, cast

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """One part of a key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else _text(name)


def toml_value(value: Any) -> str:
    """A value that `tomllib` reads as the same. Raises `ValueError` for what TOML cannot say."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, cast('list[Any]', value)))}]"
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        inside = ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in members)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if value is None:
        raise ValueError("TOML has no word for `null`")
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def _text(text: str) -> str:
    # A string of JSON is one of TOML, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
