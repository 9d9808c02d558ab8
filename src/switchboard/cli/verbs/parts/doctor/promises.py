"""What is promised on this system, in reports."""

from msgspec import Struct

from switchkit.platform import promises


class ShownPromise(Struct, frozen=True, kw_only=True):
    """One promise: how it stands here, and what is less than elsewhere."""

    what: str
    standing: promises.Standing
    less: str = ""


def shown_promises() -> tuple[ShownPromise, ...]:
    """All of them."""
    return tuple(
        ShownPromise(what=each.what, standing=each.standing, less=each.less)
        for each in promises.promises_here()
    )
