"""The names that clients may be listed, as far as they are known without starting anything."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from switchboard.children.listings.kept_words import kept_words
from switchboard.core.catalog.names import tool_name
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name


class ListedName(Struct, frozen=True, kw_only=True):
    """One name, and whose it is."""

    server: str
    name: str
    # Whether it stands for all tools of the server.
    is_suite: bool


def listed_names(settings: Settings, environ: Mapping[str, str]) -> Iterator[ListedName]:
    """Of tools under their own names those that their servers have listed before."""
    kept = kept_words(settings.home).known()
    for entry in settings.servers:
        if entry.expose == "suite":
            suite = shown_name(entry, settings.suites)
            yield ListedName(server=entry.name, name=suite, is_suite=True)
            continue
        words = kept.of(entry, environ)
        for tool in words.tools if words is not None else ():
            name = tool_name(f"{entry.tool_prefix}{tool}")
            yield ListedName(server=entry.name, name=name, is_suite=False)
