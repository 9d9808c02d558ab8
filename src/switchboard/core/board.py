"""The running configuration: fields and no methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from switchboard.core.catalog import Catalog
    from switchboard.core.ports import Next, Relay


class Board:
    """What serves calls right now. A reload makes a new one; nobody changes this one."""

    __slots__ = ("catalog", "pipeline", "relay", "shows_tools")

    def __init__(
        self,
        *,
        catalog: Catalog,
        pipeline: Next,
        relay: Callable[[], Relay] | None = None,
        shows_tools: bool = False,
    ) -> None:
        self.catalog = catalog
        self.pipeline = pipeline
        # What children offer under their own names, loaded by the first who asks for it.
        self.relay = relay
        # Whether a child shows its tools one by one, so that a listing has to ask it.
        self.shows_tools = shows_tools
