"""What decides which servers a run gets, as the settings of agents say it."""

from typing import Literal, Protocol


class ServerOptions(Protocol):
    """The part of the settings of agents that is about servers."""

    @property
    def mcp_discovery(self) -> bool:
        """Whether the files of other hosts are looked at."""
        ...

    @property
    def vscode_user_mcp(self) -> str:
        """The `mcp.json` of a VS Code profile; empty when there is none."""
        ...

    @property
    def limit_mcp_to_referenced(self) -> bool:
        """Whether only servers are attached that the agent refers to."""
        ...

    @property
    def enumerate(self) -> bool:
        """Whether servers are asked for their tools, to find those that an agent means."""
        ...

    @property
    def enum_timeout_ms(self) -> int:
        """How long each phase of that may take, for one server."""
        ...

    @property
    def enum_max_servers(self) -> int:
        """How many servers are asked at most."""
        ...

    @property
    def enum_strict(self) -> bool:
        """Whether a server that cannot be asked is left out, also where it is named."""
        ...

    @property
    def enum_fallback(self) -> Literal["none", "all"]:
        """What is attached where several servers have a tool that names none of them."""
        ...

    @property
    def skip_self(self) -> bool:
        """Whether Switchboard itself is left out of what is discovered."""
        ...

    @property
    def toolmap_allow_custom_servers(self) -> bool:
        """Whether the servers that the tool map brings along may be attached."""
        ...
