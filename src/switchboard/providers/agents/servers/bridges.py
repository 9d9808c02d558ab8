"""The command by which an engine reaches a server through Switchboard."""

import sys
from collections.abc import Mapping

from msgspec import Struct

from switchboard.core.board_mark import board_mark
from switchboard.engines.profile import AttachedServer
from switchboard.ipc.environment import BOARD_VARIABLE, DEPTH_VARIABLE


class Bridges(Struct, frozen=True, kw_only=True):
    """Makes `switchboard bridge NAME` for the servers of one run."""

    workspace: str
    home: str
    # Of the board whose servers are meant: it is found again by its mark, and not by its values.
    environ: Mapping[str, str]
    # How many runs stand above the one that gets the servers.
    depth: int = 0
    # Whether the board judges what is called on it.
    is_guarded: bool = False

    def to(self, name: str, server: str, *, agent: str = "", required: bool) -> AttachedServer:
        """A server of ours under the name that the agent knows. Nothing in it is a secret."""
        beside = ("--agent", agent) if agent else ()
        options = ("--workspace", self.workspace, *beside)
        return AttachedServer(
            name=name,
            # Not what `PATH` says: the engine may have another one.
            command=sys.executable,
            args=("-P", "-m", "switchboard", "bridge", server, *options),
            env={
                "SWITCHBOARD_HOME": self.home,
                BOARD_VARIABLE: board_mark(self.workspace, self.environ),
                DEPTH_VARIABLE: str(self.depth + 1),
            },
            required=required,
            is_gated=self.is_guarded,
        )
