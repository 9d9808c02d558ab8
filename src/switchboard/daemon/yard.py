"""The yard of an engine: its crew, and how it joins a road."""

from collections.abc import Mapping

from switchboard.core.ports import Provider, Relay
from switchboard.daemon.assemble import specs_of_yard
from switchboard.ipc.environment import BASE_NAMES
from switchboard.providers.yard.crew import Crew
from switchboard.providers.yard.provider import YardProvider
from switchboard.providers.yard.relay import ChildRelay, YardRelay
from switchboard.providers.yard.schema import VARIABLES
from switchboard.settings.sections import Settings
from switchboard.settings.yard import yard_fingerprint, yard_trusted


class Yard:
    """One crew for every board of an engine."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._crew = Crew()

    def join(self, settings: Settings, providers: dict[str, Provider], relay: ChildRelay) -> Relay:
        """Put the yard of these settings among the providers, and before the relay of children."""
        entry, home = settings.yard, settings.home
        if entry is None:
            return relay
        # What any child starts with, and the yard's own.
        names = (*BASE_NAMES, *VARIABLES)
        base = {name: self._environ[name] for name in names if name in self._environ}
        yard = YardProvider(
            specs_of_yard(settings),
            root=entry.root,
            environ=self._environ if entry.inherit_env else base,
            crew=self._crew,
            is_trusted=lambda folder: yard_trusted(entry, home, folder),
            fingerprint=lambda: yard_fingerprint(entry.root),
        )
        joined = YardRelay(yard, relay)
        providers[yard.key] = yard
        providers[joined.key] = joined
        return joined

    async def aclose(self) -> None:
        """Wait a while for what is under way."""
        await self._crew.aclose()
