"""Limits of a process, set from outside."""

import sys

if sys.platform == "darwin":
    from switchkit.platform.darwin.limits import (
        lower_limit,
        set_limit,
    )
else:
    from switchkit.platform.linux.limits import (
        lower_limit,
        set_limit,
    )

__all__ = [
    "lower_limit",
    "set_limit",
]
