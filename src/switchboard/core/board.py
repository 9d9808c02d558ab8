"""The running configuration: fields and no methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from switchboard.core.catalog.catalog import Catalog
    from switchboard.core.ports import Directory, Next, TaskProvider


class Board:
    """What serves calls right now. A reload makes a new one; nobody changes this one."""

    __slots__ = ("catalog", "directory", "listing", "pipeline", "tasks")

    def __init__(
        self,
        *,
        catalog: Catalog,
        pipeline: Next,
        directory: Callable[[], Directory] | None = None,
        listing: frozenset[str] = frozenset(),
        tasks: Callable[[], TaskProvider] | None = None,
    ) -> None:
        self.catalog = catalog
        self.pipeline = pipeline
        # What providers offer beside the catalog, loaded by the first who asks for it.
        self.directory = directory
        # The kinds of things that providers have to be asked for, beside the catalog.
        self.listing = listing
        # Who knows calls that are answered later; nothing where no call is.
        self.tasks = tasks
