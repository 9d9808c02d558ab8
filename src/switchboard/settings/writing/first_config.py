"""The `config.toml` that is written for whoever has none: better values, each with its reason.

What counts where nothing is written is fixed for good, so that a file means tomorrow what it means
today. Who begins now is given what has proved better since, in a file that they can read and edit.
"""

import os
from typing import Literal

from switchboard.config.locate import Places, home_files
from switchboard.config.writing import write_whole

_MODE = 0o644

_HEADS = {
    "workspace": """\
# Settings of Switchboard for this workspace. All of them: switchboard config show

# Ask before a call that could do harm, and write down what runs: docs/approvals.md, docs/audit.md
# That is so by default. With this line it is so here whatever the home of somebody says:
# guard = true
""",
    "home": """\
# Your settings of Switchboard, for every workspace. All of them: switchboard config show

# Ask before a call that could do harm, and write down what runs: docs/approvals.md, docs/audit.md
guard = true
""",
}
_VALUES = """
# List three tools that find and call all others, with a line for each of the most used, so that a
# model calls these at once and searches for the rest. Without this every server is a tool of its
# own, and a model asks it what it has before the first call: docs/find.md
surface_tokens = "balanced"

# Answer with a server's own contents. Without this a suite answers with the JSON of each result
# (`json`), of which a model reads up to twice as much: docs/results.md
# Keep results of more than 8,000 tokens, and give a model their beginning, end and a handle for the
# rest. Without this a single one can fill its context.
[results]
mode = "passthrough"
inline_tokens = 8_000

# Show the schemas of all tools of a server only while they are short, and otherwise names and
# summaries. Without this (`summary`) a model reads every schema of a large server at once.
# Tell of each tool in a line, as a signature: a third of what its JSON (`json`) costs.
[introspection]
mode = "auto"
format = "signatures"

# Give each suite a second tool for what only reads, in hosts that tell the two apart: Codex and
# Claude Code then let reading pass. Without this (`never`) they ask about each call of a suite.
[surface]
split = "auto"

# Let a call take five minutes without a sign of life, as hosts do. Without this it has one minute,
# which is too short for crawls, builds and research.
[timeouts]
rpc_ms = 300_000
"""


def write_config(path: str, whose: Literal["workspace", "home"]) -> None:
    """Write a first file of settings. Raises `ConfigInvalid`."""
    write_whole(path, first_config(whose), mode=_MODE)


def first_config(whose: Literal["workspace", "home"]) -> str:
    """The text of a first file of settings."""
    return _HEADS[whose] + _VALUES


def first_home_config(places: Places) -> str:
    """Where the settings of somebody would be written who has none yet; nothing for others."""
    if any(os.path.lexists(file.path) for file in home_files(places)):
        return ""
    return os.path.join(places.home, "config.toml")
