"""What a person is told once who comes from a version in which nothing was guarded by itself."""

import os
from collections.abc import Callable

from switchboard.ipc.new_home import told
from switchkit.cli.columns import wrapped
from switchkit.cli.style import COLUMNS, Style

# Made by versions that had no gate, or had it off unless somebody asked for it.
_TRACES = ("trust.json", "mcp.json", "config.toml", "cache", "audit")
_WORDS = """\
note: a call that could do harm waits for your yes: your client asks you, or `switchboard \
approvals` does. What runs is written down (`switchboard audit tail`).
hint: write `guard = true` into {path} to keep it so (this note is shown once), or \
`guard = false` to go without for now"""
_BELOW = " " * len("note: ")


def tell_once(home: str, style: Style, say: Callable[[str], None]) -> None:
    """Tell whoever has a home already that the gate is on, and never again."""
    if not any(os.path.lexists(os.path.join(home, name)) for name in _TRACES):
        return
    if told(home):
        path = style.paths(os.path.join(home, "config.toml"))
        for line in _WORDS.format(path=path).splitlines():
            for row in wrapped(line, style.columns or COLUMNS, _BELOW):
                say(row)
