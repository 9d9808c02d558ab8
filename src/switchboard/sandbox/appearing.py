"""Protected files that were not there when a program began.

What does not exist cannot be made read-only without leaving a trace on the host, so such a file can
be made inside. That it was is told once the program has ended.
"""

import os
from collections.abc import Callable

from switchboard.sandbox.repositories import PROTECTED


def appearing_in(folder: str) -> Callable[[], tuple[str, ...]]:
    """Notes what is missing now. What is returned gives the names that are there since."""
    real = os.path.realpath(folder)

    def is_there(name: str) -> bool:
        return os.path.lexists(os.path.join(real, name))

    missing = [name for name in PROTECTED if not is_there(name)]
    return lambda: tuple(filter(is_there, missing))
