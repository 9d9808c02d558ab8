"""The running configuration: three fields and no methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from switchboard.core.catalog import Catalog
    from switchboard.core.ports import Next, Provider


class Board:
    """What serves calls right now. A reload makes a new one; nobody changes this one."""

    __slots__ = ("catalog", "pipeline", "providers")

    def __init__(
        self, *, catalog: Catalog, providers: Mapping[str, Provider], pipeline: Next
    ) -> None:
        self.catalog = catalog
        self.providers = providers
        self.pipeline = pipeline
