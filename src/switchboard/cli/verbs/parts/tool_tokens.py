"""What a model reads of one tool, in tokens."""

import msgspec
from msgspec import Raw, Struct

from switchboard.cli.table import TOKENIZER, loaded
from switchboard.control.tools import Subtool

ENCODING = "o200k_base"


class _Read(Struct, rename="camel"):
    """What of a tool reaches a model."""

    name: str
    description: str
    input_schema: Raw


def count_of(tool: Subtool) -> int:
    """How many tokens a model reads of a tool that is shown to it."""
    read = _Read(tool.name, tool.summary, tool.input_schema)
    return loaded(TOKENIZER).count_tokens(msgspec.json.encode(read).decode(), ENCODING)
