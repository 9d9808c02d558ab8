"""Definitions of tools as they were first seen. A server that changes one later has to wait."""

from collections.abc import Mapping

import msgspec

from switchboard.approvals.differences import difference, kept
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.definition import definition_hash, definition_of, older_hash
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.core.stores import ApprovalStore, Held, PinKey
from switchkit.processes import living

_MOST_KNOWN = 4_096


class Pins:
    """Compares what tools say of themselves with what is pinned of them."""

    def __init__(self, store: ApprovalStore, *, by_value: Redact = NO_SECRETS) -> None:
        self._store = store
        self._by_value = by_value
        # Definitions that were found to be as pinned: asked for with every call.
        self._known: set[tuple[ToolSpec, str, str]] = set()

    def is_known(self, launch: Launch) -> bool:
        """Whether `check` would find nothing held, without asking the store."""
        if not launch.is_foreign:
            return True
        if launch.account:
            return _known_as(launch) in self._known
        # The same in line: most servers have one account.
        return (launch.tool, launch.server, launch.fingerprint) in self._known

    async def check(self, launch: Launch, client_pid: int = 0) -> Held | None:
        """Pin a definition at first sight. Gives what is held when it is not the pinned one.

        The client that wanted the call, if it is known, is noted: it may not agree for its user.
        """
        if self.is_known(launch):
            return None
        held = await self._pin(launch)
        if held is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add(_known_as(launch))
            return None
        # If the change is agreed to, what it was before is a change itself.
        self._known = {
            (tool, server, fingerprint)
            for tool, server, fingerprint in self._known
            if PinKey(server, fingerprint, tool.name) != pin_key(launch)
        }
        if (client := living(client_pid)) is not None:
            await self._store.wanted(held, client.pid, client.began)
        return held

    async def _pin(self, launch: Launch) -> Held | None:
        tool = launch.tool
        text = kept(self._by_value(_readable(tool)))
        return await self._store.pin(pin_key(launch), definition_hash(tool), text, older_hash(tool))

    async def held_among(self, launches: Mapping[str, Launch]) -> dict[str, Held]:
        """Those tools, by name, that are not as they were pinned: nobody is shown their words.

        All are of one server. What was never called is not pinned, and new to everybody.
        """
        first = next(iter(launches.values()), None)
        if first is None:
            return {}
        pinned = await self._store.pinned(first.server, _launched_as(first))
        found: dict[str, Held] = {}
        for name, (hashed, is_whole) in pinned.items():
            launch = launches.get(name)
            if launch is None or self.is_known(launch):
                continue
            tool = launch.tool
            if hashed not in {definition_hash(tool), *(() if is_whole else (older_hash(tool),))}:
                # Whoever is to look at it finds it in the queue, although nobody can call it.
                held = await self._pin(launch)
                if held is not None:
                    found[name] = held
        return found

    async def changes(self, launch: Launch) -> tuple[str, ...]:
        """What the server has changed of a tool since a call of it was last agreed to."""
        if not launch.is_foreign:
            return ()
        found = await self._store.unsettled(pin_key(launch))
        return difference(*found, is_short=True) if found is not None else ()

    async def settle(self, launch: Launch) -> None:
        """Somebody has agreed to a call of this tool as it is now."""
        await self._store.settle(pin_key(launch))


def pin_key(launch: Launch) -> PinKey:
    """Which tool of which server, as what it is started."""
    return PinKey(launch.server, _launched_as(launch), launch.tool.name)


def _known_as(launch: Launch) -> tuple[ToolSpec, str, str]:
    return launch.tool, launch.server, _launched_as(launch)


def _launched_as(launch: Launch) -> str:
    """A server may describe its tools to each account in other words, and change none of them."""
    return f"{launch.fingerprint}@{launch.account}" if launch.account else launch.fingerprint


def _readable(tool: ToolSpec) -> str:
    raw = msgspec.json.encode(definition_of(tool), order="sorted")
    return msgspec.json.format(raw, indent=2).decode()
