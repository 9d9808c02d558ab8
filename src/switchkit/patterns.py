"""Regular expressions that are compiled when they are first used.

To compile one takes longer than to load a small module, and most processes use few of them.
"""

import re
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The same as `re.compile`, later. A mistake in `text` is found at the first use."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    """Has every member of the pattern from its first use on, so that later ones cost no more."""

    # For whoever asks what it is.
    __class__ = cast("Any", property(lambda _: re.Pattern))  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, text: str, flags: int) -> None:
        self._made_of = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._made_of)
        members = {each: getattr(compiled, each) for each in dir(compiled) if each[0] != "_"}
        self.__dict__.update(members)
        return getattr(compiled, name)
