"""What clients would be listed with each preset, to compare them."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from switchboard.control.tools import PLAIN, ListedPreset, Subtool
from switchboard.core.sessions import Session
from switchboard.daemon.board.assemble import Assembly
from switchboard.providers.table import TABLE, source_of
from switchboard.settings.sections import Settings

Assemble = Callable[[Settings], Assembly]


def preset_listings(
    settings: Settings, assemble: Assemble, session: Session
) -> Iterator[ListedPreset]:
    """The listing without any preset, and with each. Starts nothing."""
    # What it was told before is not what a session would be told that begins now.
    session = replace(session, id=f"{session.id}-compared")
    servers = tuple(
        replace(entry, expose="suite") if entry.expose == "tools" else entry
        for entry in settings.servers
    )
    settings = replace(settings, servers=servers)
    for key in (key for key, row in TABLE.items() if row.settings):
        presets = source_of(key).presets()
        if not presets:
            continue
        others = {name: value for name, value in settings.sources.items() if name != key}
        plain = replace(settings, sources=others)
        in_use = settings.sources.get(key)
        yield _listed(PLAIN, plain, assemble, session, is_in_use=in_use is None)
        for name, value in presets.items():
            chosen = replace(plain, sources={**others, key: value})
            yield _listed(name, chosen, assemble, session, is_in_use=in_use == value)


def _listed(
    name: str, settings: Settings, assemble: Assemble, session: Session, *, is_in_use: bool
) -> ListedPreset:
    specs = assemble(settings).catalog.tools.values()
    return ListedPreset(
        name=name,
        is_in_use=is_in_use,
        tools=tuple(
            Subtool(
                name=spec.name,
                summary=spec.described_to(session),
                input_schema=spec.input_schema,
            )
            for spec in specs
            if spec.is_shown_to(session)
        ),
    )
