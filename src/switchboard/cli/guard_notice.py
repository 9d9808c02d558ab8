"""What a person is told once who comes from a version in which nothing was guarded by itself."""

import os
from collections.abc import Callable

from switchboard.ipc.new_home import told

# Made by versions that had no gate, or had it off unless somebody asked for it.
_TRACES = ("trust.json", "mcp.json", "config.toml", "cache", "audit")
_WORDS = """\
note: since version 0.2, a call that could do harm waits for your yes: your client asks you, or
      `switchboard approvals` does. What runs is written down (`switchboard audit tail`).
hint: write `guard = true` into {path} to keep it so (this note is shown once), or
      `guard = false` to go without for now"""


def tell_once(home: str, say: Callable[[str], None]) -> None:
    """Tell whoever has a home already that the gate is on, and never again."""
    if not any(os.path.lexists(os.path.join(home, name)) for name in _TRACES):
        return
    if told(home):
        say(_WORDS.format(path=os.path.join(home, "config.toml")))
