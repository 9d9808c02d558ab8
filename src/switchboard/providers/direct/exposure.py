"""How one server is shown under its own names."""

from msgspec import Struct

from switchboard.children.server_launches import ServerLaunches
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.origins import Origin


class DirectExposure(Struct, frozen=True, eq=False, kw_only=True):
    """A server, and how much of it is shown."""

    name: str
    children: ChildSource
    launches: ServerLaunches
    origin: Origin = Origin()
    # Whether its tools are shown one by one, under which prefix, and which of them.
    shows_tools: bool = False
    prefix: str = ""
    subtools: Visibility = Visibility()
    # From how many tokens on its results are kept and given in part; 0 for none.
    inline_tokens: int = 0
    # Whether its prompts and resources are shown.
    relays: bool = True
