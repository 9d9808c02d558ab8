"""Large results leave no gaps behind.

glibc raises its limit for memory that goes straight back to the system with every large block that
is freed. After the first result of ten megabytes it would keep such blocks on the heap, and their
gaps with them. A fixed limit keeps a process that lives for days as small as it began.
"""

import ctypes

_M_MMAP_THRESHOLD = -3
_MIB = 1024 * 1024


def return_large_blocks() -> None:
    """Let blocks of a mebibyte and more come from, and go back to, the system."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MIB)
