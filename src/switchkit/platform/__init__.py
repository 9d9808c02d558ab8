"""The only place that knows the operating system. What cannot be known is `Unknown`.

`light` is for programs that must start in a blink. `system` is the rest, chosen once: `linux`, or
`darwin`, which holds what is known of macOS today. `ports` says who listens.
"""

import sys

if sys.platform not in {"linux", "darwin"}:
    raise ImportError("Switchboard and Switchyard run on Linux and macOS; on Windows use WSL 2")
