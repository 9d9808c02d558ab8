"""Pipes and sockets between processes."""

import sys

if sys.platform == "darwin":
    from switchkit.platform.darwin.streams import (
        is_input_over,
        stream_of,
        streams_of,
        unread_bytes,
        was_cut_off,
        widen_pipe,
    )
else:
    from switchkit.platform.linux.streams import (
        is_input_over,
        stream_of,
        streams_of,
        unread_bytes,
        was_cut_off,
        widen_pipe,
    )

__all__ = [
    "is_input_over",
    "stream_of",
    "streams_of",
    "unread_bytes",
    "was_cut_off",
    "widen_pipe",
]
