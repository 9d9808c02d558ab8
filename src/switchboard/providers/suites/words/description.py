"""The built-in description of a suite: what its server said of itself, once that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from switchboard.core.catalog.visibility import Visibility

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from switchboard.children.exposure import SuiteSettings
    from switchboard.children.listings.kept_words import KeptWords, ServerWords
    from switchboard.children.schema import ServerEntry
    from switchboard.core.catalog.tools import Outline
    from switchboard.core.sessions import Session

# All suites together have to stay far below what their tools would cost.
_MOST_TOOLS = 6
_MOST_LETTERS = 70


def plain_description(entry: ServerEntry) -> str:
    """What is said of a server that nobody knows yet."""
    return f"Use this tool for {entry.description or entry.name}. Actions: 'introspect' | 'call'"


class Description:
    """The description of one suite, for each session as it was first told."""

    __slots__ = ("_entry", "_environ", "_kept", "_visible")

    def __init__(
        self,
        entry: ServerEntry,
        settings: SuiteSettings,
        environ: Mapping[str, str],
        kept: KeptWords,
    ) -> None:
        self._entry = entry
        self._environ = environ
        self._kept = kept
        self._visible = Visibility(settings.allow, settings.deny)

    def __call__(self, session: Session) -> str:
        words = self._words(session)
        return plain_description(self._entry) if words is None else self._told(words)

    def outlines(self, session: Session) -> Sequence[Outline]:
        """Its tools, as far as they are known."""
        words = self._words(session)
        known = words.outlines if words is not None else ()
        return [each for each in known if self._visible.shows(each.name)]

    def _words(self, session: Session) -> ServerWords | None:
        return self._kept.told(session.holder).of(self._entry, self._environ)

    def _told(self, words: ServerWords) -> str:
        entry = self._entry
        parts = [f"Use this tool for {entry.description or words.title or entry.name}."]
        if words.about:
            stop = "" if words.about.endswith((".", "!", "?")) else "."
            parts.append(words.about + stop)
        names = [name for name in words.tools if self._visible.shows(name)]
        if shown := _first(names):
            more = ", …" if len(names) > len(shown) else ""
            parts.append(f"Tools: {', '.join(shown)}{more}")
        return " ".join(parts)


def _first(names: list[str]) -> list[str]:
    """As many names as there is room for, and one if there is any."""
    shown: list[str] = []
    for name in names[:_MOST_TOOLS]:
        if shown and sum(map(len, shown)) + len(name) > _MOST_LETTERS:
            break
        shown.append(name)
    return shown
