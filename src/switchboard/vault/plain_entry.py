"""A secret on its way from one vault into another, in the memory of one process."""

from msgspec import Struct


class PlainEntry(Struct, frozen=True, kw_only=True):
    """One value with its dates. It never shows what it is."""

    created_at: float
    changed_at: float
    value: str

    def __repr__(self) -> str:
        return "PlainEntry(…)"
