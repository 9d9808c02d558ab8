"""What no client may read in a child's words."""

from collections.abc import Iterable

from switchboard.core.secrets import KnownSecrets

# Values of a child's own variables and headers: better too much of them is hidden than too little.
_SHORTEST = 4


def hiding(values: Iterable[str]) -> KnownSecrets:
    """The values of a child that stay between us and it."""
    return KnownSecrets(values, shortest=_SHORTEST)
