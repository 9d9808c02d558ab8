"""Makes the start of a process short. Its entry point imports this before any other module.

`pathlib` imports `urllib.parse`, which imports `ipaddress`, for `Path.as_uri` alone. The two take
longer to load than all modules of a query like `where`. So a stand-in takes their place while
`pathlib` is first imported, and no longer.

Loading modules makes no garbage, but thousands of objects that the collector would scan again and
again. It stays disabled until somebody enables it.
"""

import gc
import sys
from types import ModuleType

gc.disable()


def _quote_from_bytes(text: bytes) -> str:
    from urllib.parse import quote_from_bytes  # noqa: PLC0415 - the real one, see above

    return quote_from_bytes(text)


if "pathlib" not in sys.modules and "urllib.parse" not in sys.modules:
    _stand_in = ModuleType("urllib.parse")
    vars(_stand_in)["quote_from_bytes"] = _quote_from_bytes
    sys.modules["urllib.parse"] = _stand_in
    try:
        import pathlib as pathlib  # noqa: PLC0414 - imported for the effect
    finally:
        del sys.modules["urllib.parse"]
