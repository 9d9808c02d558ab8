"""Imports msgspec without `typing_extensions`.

msgspec looks for `typing_extensions` to understand the types of Pythons older than ours and does
without where it is missing. Loading it costs a third of the time in which a client waits for
Switchboard to start, and we use none of its types. So it is hidden while msgspec is imported for
the first time, and for no longer. Whoever wants that effect imports this module first.
"""

import sys

if "msgspec" not in sys.modules and "typing_extensions" not in sys.modules:
    sys.modules["typing_extensions"] = None  # pyright: ignore[reportArgumentType] - "not there"
    try:
        import msgspec as msgspec  # noqa: PLC0414 - imported for the effect
    finally:
        del sys.modules["typing_extensions"]
