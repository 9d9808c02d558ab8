"""Makes the start short. Whoever wants that imports this module before any other.

msgspec looks for `typing_extensions` to understand the types of Pythons older than ours and does
without where it is missing. Loading it costs a third of the time in which a client waits for
Switchboard to start, and we use none of its types. So it is hidden while msgspec is imported for
the first time, and for no longer.

Modules that load make no garbage, but thousands of objects, which the collector would look through
again and again. It rests until `keep_loaded` is called, and then leaves all those objects alone.

msgspec loads `uuid`, which loads `platform` only to ask for the name of the system. The
name is given to it without.
"""

import gc
import sys
from types import ModuleType

from switchkit.platform.light import system_name

# So many new objects before the collector looks through them, seven times what Python has.
_YOUNG_OBJECTS = 5_000

gc.disable()

if "msgspec" not in sys.modules and "typing_extensions" not in sys.modules:
    sys.modules["typing_extensions"] = None  # pyright: ignore[reportArgumentType] - "not there"
    if _names_system := "platform" not in sys.modules:
        sys.modules["platform"] = stand_in = ModuleType("platform")
        stand_in.system = system_name  # pyright: ignore[reportAttributeAccessIssue]
    try:
        import msgspec as msgspec  # noqa: PLC0414 - imported for the effect
    finally:
        del sys.modules["typing_extensions"]
        if _names_system:
            del sys.modules["platform"]


def keep_loaded() -> None:
    """Keep what is loaded now until the end, and collect garbage from here on."""
    gc.freeze()
    # A call makes objects by the dozen and hardly any garbage.
    gc.set_threshold(_YOUNG_OBJECTS)
    gc.enable()
