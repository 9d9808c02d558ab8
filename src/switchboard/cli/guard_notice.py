"""What a person is told once who comes from a version in which nothing was guarded by itself."""

import os
from collections.abc import Callable

from switchkit.files import make_private_folder, open_private

# Made by versions that had no gate, or had it off unless somebody asked for it.
_TRACES = ("trust.json", "mcp.json", "config.toml", "cache", "audit")
_TOLD = "guard-notice"
_WORDS = """\
note: since version 0.2, a call that could do harm waits for your yes: your client asks you, or
      `switchboard approvals` does. What runs is written down (`switchboard audit`).
hint: write `guard = true` into {path} to keep it so and hear no more of it, or
      `guard = false` to go without for now"""


def tell_once(home: str, say: Callable[[str], None]) -> None:
    """Tell whoever has a home already that the gate is on, and never again."""
    if not any(os.path.lexists(os.path.join(home, name)) for name in _TRACES):
        return
    folder = os.path.join(home, "state")
    try:
        make_private_folder(folder)
        # Whoever makes the file tells: of two commands at once, one does.
        os.close(open_private(os.path.join(folder, _TOLD), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except OSError:
        # It was told before, or the home cannot be written to, where it would be told for ever.
        return
    say(_WORDS.format(path=os.path.join(home, "config.toml")))
