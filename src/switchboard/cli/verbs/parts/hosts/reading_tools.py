"""The tools of ours that only read, for hosts that ask about each tool by its name."""

from collections.abc import Container, Iterator

from switchboard.children.exposure import reading_name
from switchboard.providers.table import configured
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name


def reading_tools(settings: Settings, among: Container[str]) -> Iterator[str]:
    """What only reads: the tools of ours that find others, and the faces of these servers."""
    for source in configured(settings):
        yield from source.reading()
    if settings.faces.split == "never":
        return
    for entry in settings.servers:
        if entry.name in among and entry.expose == "suite" and not entry.natural_language:
            yield reading_name(shown_name(entry, settings.suites))
