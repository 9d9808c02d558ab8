"""Arguments, variables and texts without their secrets: only that there is one is shown.

Known values are found by `core.privacy.secrets`; here is what a name, a schema or a shape tells.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.core.privacy.secrets import NO_SECRETS, REDACTED, Redact
from switchkit.patterns import pattern

_SHAPES = pattern(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|sk_(?:live|test)_\w{12,}|xox[abeoprs]-[\w-]{10,}|A(?:KIA|SIA)[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|npm_\w{30,}|hf_[A-Za-z]{20,}|pypi-[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|eyJ[\w-]{8,400}\.[\w-]{8,4000}\.[\w-]*)"
)
# What each of these begins with.
_SHAPE_WORDS = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "sk_", "xox"),
    *("AKIA", "ASIA", "AIza", "npm_", "hf_", "pypi-", "ya29.", "eyJ"),
)
_BEARER = pattern(r"(?i)\b(bearer|basic)\s+[\w+/=.~-]{8,}")
_ASSIGNED = pattern(
    r"(?i)((?:token|secret|password|passwd|api[_-]?key|_key|authorization|cookie))(\s*[=:]\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s\"'&;,]+)"
)
_ASSIGNED_WORDS = (
    *("token", "secret", "passw", "apikey", "api_key", "api-key", "_key", "authorization"),
    "cookie",
)
# Bounded, like all of these: an endless text must not take more than its length.
_USERINFO = pattern(r"(?i)\b([a-z][a-z0-9+.-]{0,32}://)[^\s/?#@]+@")
_PARAMETER = pattern(r"([?&])([^=&#\s]{1,64})=([^&#\s]+)")
_PRIVATE_KEY = pattern(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL
)


# The keys and indices that lead to a value.
Place = tuple[str | int, ...]


class Redacted:
    """A value without its secrets, and where they stood."""

    def __init__(self, value: Any, places: tuple[str, ...]) -> None:
        self.value = value
        self.places = places


def redacted_arguments(
    arguments: Any, schema: Any, by_value: Redact, borrowed: Iterable[Place] = ()
) -> Redacted:
    """Arguments as a person is to judge them: without known secrets and what the schema marks.

    Nothing is hidden for its name or its shape. Whoever writes the arguments chooses both, and
    could hide what matters most from the person who decides. Nor does a schema hide what was
    borrowed from the result of some server: its user has not typed it, and never seen it.
    """
    walk = _Walk(schema, by_value, tuple(borrowed))
    return Redacted(walk.value(arguments, schema, "", ()), tuple(walk.places))


def redacted_text(text: str, by_value: Redact = NO_SECRETS) -> str:
    """A text without anything in it that has the shape of a secret."""
    text = by_value(text)
    # Patterns are slow, and few texts hold a word that one of them begins with.
    if "-----BEGIN" in text:
        text = _PRIVATE_KEY.sub(REDACTED, text)
    if any(word in text for word in _SHAPE_WORDS):
        text = _SHAPES.sub(REDACTED, text)
    if "://" in text:
        text = _USERINFO.sub(rf"\1{REDACTED}@", text) if "@" in text else text
        text = _PARAMETER.sub(_parameter, text) if "=" in text else text
    lower = text.lower()
    if "bearer" in lower or "basic" in lower:
        text = _BEARER.sub(rf"\1 {REDACTED}", text)
    if any(word in lower for word in _ASSIGNED_WORDS):
        text = _ASSIGNED.sub(rf"\1\2{REDACTED}", text)
    return text


def redacted_words(words: Iterable[Any], by_value: Redact = NO_SECRETS) -> list[Any]:
    """The words of a command line, each without its secrets; `--token x` loses the `x`."""
    clean: list[Any] = []
    expected = False
    for word in words:
        if not isinstance(word, str):
            clean.append(word)
            continue
        name, equals, value = word.partition("=")
        if expected and not word.startswith("-"):
            clean.append(REDACTED)
        elif equals and value and _names_secret(name):
            clean.append(f"{name}={REDACTED}")
        else:
            clean.append(redacted_text(word, by_value))
        expected = word.startswith("-") and not equals and _names_secret(word)
    return clean


def _parameter(found: re.Match[str]) -> str:
    """A parameter of a URL. One that is just named `key` is a secret there."""
    is_secret = _names_secret(found[2]) or found[2].casefold() == "key"
    return f"{found[1]}{found[2]}={REDACTED if is_secret else found[3]}"


def _names_secret(name: str) -> bool:
    return is_secret_name(name.lstrip("-").replace("-", "_"))


_SECRET: Mapping[str, Any] = {"writeOnly": True}


class _Walk:
    """Goes through arguments and their schema side by side."""

    def __init__(self, root: Any, by_value: Redact, borrowed: tuple[Place, ...]) -> None:
        self._root = root
        self._by_value = by_value
        self._borrowed = borrowed
        self.places: list[str] = []

    def value(self, value: Any, schema: Any, place: str, steps: Place) -> Any:
        schemas = self._expand(schema, set())
        marked: list[Any] = []
        if not self._is_borrowed(steps) and any(_marks_secret(each) for each in schemas):
            if not self._has_borrowed(steps):
                return self._hide(value, place, "marked as a secret by the tool")
            # All of it is secret but for that part.
            marked.append(_SECRET)
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            return {
                # A key can carry a secret as well as a value can.
                self._by_value(key): self._member(key, inner, [*schemas, *marked], place, steps)
                for key, inner in members.items()
            }
        if isinstance(value, list):
            items = [each["items"] for each in schemas if "items" in each] + marked
            inner_schema: Any = {"allOf": items} if items else None
            return [
                self.value(inner, inner_schema, f"{place}[{at}]", (*steps, at))
                for at, inner in enumerate(cast("list[Any]", value))
            ]
        # Numbers that keep their digits are a kind of text, and no secret.
        if type(value) is str:
            shown = self._by_value(value)
            if shown != value:
                self.places.append(place)
            return shown
        return value

    def _is_borrowed(self, steps: Place) -> bool:
        return any(steps[: len(each)] == each for each in self._borrowed)

    def _has_borrowed(self, steps: Place) -> bool:
        return any(each[: len(steps)] == steps for each in self._borrowed)

    def _member(
        self, key: str, value: Any, schemas: list[Mapping[str, Any]], place: str, steps: Place
    ) -> Any:
        # What is hidden is named in the question and in its record.
        shown = self._by_value(key)
        inner = f"{place}.{shown}" if place else shown
        found: list[Any] = []
        for each in schemas:
            if each is _SECRET:
                found.append(each)
            properties = each.get("properties")
            if isinstance(properties, dict) and key in properties:
                found.append(cast("dict[str, Any]", properties)[key])
            elif isinstance(each.get("additionalProperties"), dict):
                found.append(each["additionalProperties"])
        return self.value(value, {"allOf": found} if found else None, inner, (*steps, key))

    def _hide(self, value: Any, place: str, why: str) -> str:
        self.places.append(place)
        size = f", {len(value)} characters" if isinstance(value, str) else ""
        return f"<hidden: {why}{size}>"

    def _expand(self, schema: Any, seen: set[int]) -> list[Mapping[str, Any]]:
        """A schema and all that it is made of, local references followed, each part once."""
        if not isinstance(schema, dict) or id(cast("Any", schema)) in seen:
            return []
        members = cast("dict[str, Any]", schema)
        seen.add(id(members))
        found: list[Mapping[str, Any]] = [members]
        reference = members.get("$ref")
        if isinstance(reference, str):
            found += self._expand(self._referred(reference), seen)
        for word in ("allOf", "anyOf", "oneOf"):
            parts = members.get(word)
            if isinstance(parts, list):
                for part in cast("list[Any]", parts):
                    found += self._expand(part, seen)
        return found

    def _referred(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return None
        at: Any = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            at = cast("dict[str, Any]", at).get(name) if isinstance(at, dict) else None
        return at


def _marks_secret(schema: Mapping[str, Any]) -> bool:
    return (
        schema.get("writeOnly") is True
        or schema.get("format") == "password"
        or schema.get("x-secret") is True
    )
