"""What a command, or a page, can ask of a daemon. The words are the same on every transport."""

from typing import Literal

import msgspec
from msgspec import Raw, Struct

# The reason of a fault that is a mistake on the command line.
USAGE = "usage"

_NO_ARGUMENTS = Raw(b"{}")


class Request(Struct, frozen=True, kw_only=True, tag_field="do"):
    """The base of every request; `do` says which it is."""


class StatusRequest(Request, frozen=True, kw_only=True, tag="status"):
    """The daemon and everything in it."""


class SessionsRequest(Request, frozen=True, kw_only=True, tag="sessions"):
    """Who is connected."""


class EventsRequest(Request, frozen=True, kw_only=True, tag="events"):
    """What has happened: how many past events, and whether to stay for those to come."""

    last: int = 0
    follow: bool = False


class ChildRequest(Request, frozen=True, kw_only=True, tag="child"):
    """Start, stop or restart the children of one server, in one workspace or in all."""

    action: Literal["start", "stop", "restart"]
    name: str
    workspace: str = ""


class CallRequest(Request, frozen=True, kw_only=True, tag="call"):
    """One call: a tool of a suite, or a tool that is in none."""

    # A suite, the server behind it, or a tool that is in none.
    name: str
    subtool: str = ""
    arguments: Raw = _NO_ARGUMENTS
    # Whether whoever calls can put a question to a person.
    asks: bool = False


class IntrospectRequest(Request, frozen=True, kw_only=True, tag="introspect"):
    """The tools of one suite, or everything that can be called."""

    name: str = ""
    subtool: str = ""
    full: bool = False


class TokensRequest(Request, frozen=True, kw_only=True, tag="tokens"):
    """What a model reads of every server, with suites and without."""


class ReloadRequest(Request, frozen=True, kw_only=True, tag="reload"):
    """Read the configuration of every board again, now."""


class DrainRequest(Request, frozen=True, kw_only=True, tag="drain"):
    """Take no client any more, and end with the last one."""


class StopRequest(Request, frozen=True, kw_only=True, tag="stop"):
    """End every session, and then the daemon."""


class ListenRequest(Request, frozen=True, kw_only=True, tag="listen"):
    """Serve HTTP on the socket that comes with this, for whoever shows the token."""

    # As it was asked for; clients may call us by this name.
    host: str
    token: str


BoardRequest = CallRequest | IntrospectRequest | TokensRequest
AnyRequest = (
    StatusRequest
    | SessionsRequest
    | EventsRequest
    | ChildRequest
    | CallRequest
    | IntrospectRequest
    | TokensRequest
    | ReloadRequest
    | DrainRequest
    | StopRequest
)

read_request = msgspec.json.Decoder(AnyRequest).decode
