"""What was made of exactly these objects, so that it is not made anew as long as they are there."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

V = TypeVar("V")


class IdentityCache(Generic[V]):
    """The last few. Sessions that see different things each find what was made for them."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._kept: dict[tuple[object, ...], tuple[tuple[object, ...], V]] = {}

    def get(self, parts: Iterable[object], make: Callable[[], V], *, kind: str = "") -> V:
        """What was made of these `parts` of a `kind`, or what is made of them now."""
        made_of = tuple(parts)
        # Empty parts may all be the same one, so the kind tells them apart.
        key = (kind, *map(id, made_of))
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= self._most:
                self._kept.pop(next(iter(self._kept)))
            # The parts are kept too, so that nothing else can get their identity.
            kept = self._kept[key] = (made_of, make())
        return kept[1]
