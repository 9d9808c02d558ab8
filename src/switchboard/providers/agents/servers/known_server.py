"""A server that an agent could be given, wherever it was written."""

from typing import Literal

from msgspec import Struct

from switchboard.engines.profile import AttachedServer

# Lowest first: a later one replaces an earlier one of the same name.
Source = Literal["map", "host", "settings", "agent"]


class KnownServer(Struct, frozen=True, kw_only=True):
    """One server, by the name that tools refer to."""

    name: str
    source: Source
    # How the engine would start it; nothing where only Switchboard can, as for a remote one.
    launch: AttachedServer | None = None
    # The name of the configured server that it is; it is then reached through Switchboard.
    configured: str = ""
    # The agent beside whose file it is declared: only there does Switchboard find it.
    agent: str = ""


class Attachments(Struct, frozen=True, kw_only=True):
    """The servers of a run, and what is to be told about those that it does not get."""

    servers: tuple[AttachedServer, ...] = ()
    # Sentences; none of them keeps the run from beginning.
    notices: tuple[str, ...] = ()
