"""How long a reader may take over one input, in the time of the processor.

On a machine with much else to do a fast reader waits for its turn, so real time says little.
"""

import time
from collections.abc import Callable

# No reader here has a reason to take longer over a few kilobytes.
SLOWEST_S = 5.0


def bounded(
    check: Callable[[bytes], None], clock: Callable[[], float] = time.process_time
) -> Callable[[bytes], None]:
    """The same check, which raises where it took too long."""

    def timed(data: bytes) -> None:
        began = clock()
        check(data)
        took = clock() - began
        assert took < SLOWEST_S, f"it took {took:.1f} s of the processor"

    return timed
