"""The running configuration: two fields and no methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from switchboard.core.catalog import Catalog
    from switchboard.core.ports import Next


class Board:
    """What serves calls right now. A reload makes a new one; nobody changes this one."""

    __slots__ = ("catalog", "pipeline")

    def __init__(self, *, catalog: Catalog, pipeline: Next) -> None:
        self.catalog = catalog
        self.pipeline = pipeline
