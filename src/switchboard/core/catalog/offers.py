"""What providers offer, each thing with the name that its provider knows it by."""

from typing import Literal

from msgspec import Raw, Struct

from switchboard.core.catalog.tools import ToolSpec

# `tools` are those that a client lists; `subtools` are called through one of them.
Kind = Literal["tools", "subtools", "prompts", "resources", "templates"]
Withheld = Literal["", "changed", "denied"]
# What a client reads or fills in. A listing of these asks the providers.
CONTENTS = frozenset[str]({"prompts", "resources", "templates"})


class Offer(Struct, frozen=True, kw_only=True, eq=False):
    """One thing that a session can use."""

    # A tool's or prompt's name, a resource's URI, or the text of a template.
    name: str
    provider: str
    # The server that it is of. What belongs to the provider itself keeps its name in any case.
    owner: str = ""
    # What the server calls it, where that is another name.
    own: str = ""
    # How a client lists it; a tool without one is listed by its spec.
    entry: Raw | None = None
    # Of a tool or a subtool.
    spec: ToolSpec | None = None
    # The tool that a subtool is called through.
    via: ToolSpec | None = None
    # Why nobody is told of a subtool that its server has. Who calls it is told so by its suite.
    withheld: Withheld = ""
