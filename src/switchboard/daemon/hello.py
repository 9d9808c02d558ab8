"""What a client says of itself in its first line."""

import json
from typing import Any, Literal

import msgspec
from msgspec import Struct

from switchboard.ipc.environment import DEPTH_VARIABLE, depth_of


class Hello(Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """Who is there, and for what."""

    magic: Literal["switchboard"]
    abi: str
    kind: Literal["client", "control"]
    home: str
    cwd: str = "/"
    workspace: str = ""
    config: str = ""
    environ: dict[str, str] = {}
    # The one server that is wanted, and the agent whose own servers count too.
    bridge: str = ""
    agent: str = ""
    # The mark of the board that it was started for.
    board: str = ""
    # How many runs of agents stand above it, as it was told.
    depth: str = ""

    @property
    def is_pinned(self) -> bool:
        """Whether it named the workspace, which its agents may not leave then."""
        return bool(self.workspace)

    @property
    def runs_above(self) -> int:
        return depth_of({DEPTH_VARIABLE: self.depth})


class NoHello(Exception):
    """The line is not a hello."""


def read_hello(line: bytes) -> Hello:
    """The hello in a line, or `NoHello`."""
    return _converted(line, Hello)


def read_values(line: bytes) -> dict[str, str]:
    """The variables in a line, or `NoHello`."""
    return _converted(line, dict[str, str])


def _converted(line: bytes, kind: Any) -> Any:
    # Not msgspec: a value that is no UTF-8 travels as lone surrogates, which it refuses.
    try:
        return msgspec.convert(json.loads(line), kind)
    except (ValueError, RecursionError) as error:
        raise NoHello(str(error)) from None
