"""Who may talk to us over HTTP.

A page in a browser can reach a port of this machine, under a name of its own if it likes. So the
names by which we are called and the pages that call us are checked exactly, and a token always.
Where a team tells its people apart, the token is theirs, and says who they are.
"""

import hmac
from collections.abc import Set as AbstractSet

from msgspec import Struct

from switchboard.core.people import Doorkeeper, NotLetIn, Person
from switchboard.surface.http.exchange import Exchange, Refusal
from switchboard.wire.http_hosts import in_url, is_any_address

_CHALLENGE = ((b"www-authenticate", b'Bearer realm="switchboard"'),)
_HTTP_PORT = 80
# A second copy of one of these could be read by somebody else than the first.
_ONCE = frozenset(
    {
        *("host", "origin", "authorization", "cookie", "content-type", "content-length"),
        *("mcp-session-id", "x-switchboard-page", "sec-fetch-site"),
    }
)


class Access(Struct, frozen=True, kw_only=True):
    """The token, and the names under which we are reached."""

    # Nobody has an empty one.
    token: str
    hosts: frozenset[str]
    # Who shows that token, where people have names at all.
    bearer: Person | None = None
    # Who knows people by tokens of their own.
    door: Doorkeeper | None = None

    def check(self, exchange: Exchange) -> None:
        """Let the request pass, or raise Refusal."""
        self.check_called(exchange)
        if not self._is_token(_shown(exchange)):
            raise Refusal(401, "a bearer token is required", headers=_CHALLENGE)

    def check_called(self, exchange: Exchange, scheme: str = "http") -> None:
        """Let a request pass that calls us by one of our names, or raise Refusal.

        `scheme` is that of our own pages, as browsers see them.
        """
        host = (exchange.header("host") or "").lower()
        is_known = host in self.hosts and exchange.header("origin") is None
        hosts = self.hosts if is_known else self.hosts | _address_of(exchange)
        check_names(exchange, hosts, scheme)

    async def person(self, exchange: Exchange) -> Person | None:
        """Who it is that asks, where people have names. Raises Refusal."""
        if self.door is None:
            self.check(exchange)
            return self.bearer
        self.check_called(exchange)
        shown = _shown(exchange)
        if self._is_token(shown):
            return self.bearer
        if not shown:
            raise _refusal(self.door, NotLetIn("a bearer token is required", error=""))
        try:
            return await self.door.person(shown)
        except NotLetIn as why:
            raise _refusal(self.door, why) from None

    def _is_token(self, shown: str) -> bool:
        return bool(self.token) and hmac.compare_digest(
            shown.encode("utf-8", "replace"), self.token.encode()
        )


def _shown(exchange: Exchange) -> str:
    """The bearer token of a request; empty where there is none."""
    scheme, _, given = (exchange.header("authorization") or "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def _refusal(door: Doorkeeper, why: NotLetIn) -> Refusal:
    """What RFC 6750 and RFC 9728 have a client told: what is wrong, and where one logs in."""
    said = {"realm": "switchboard"}
    if why.error:
        said |= {"error": why.error, "error_description": why.message}
    if door.scopes:
        said["scope"] = " ".join(door.scopes)
    said["resource_metadata"] = door.document_url
    challenge = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in said.items())
    return Refusal(why.status, why.message, headers=((b"www-authenticate", challenge.encode()),))


def check_names(exchange: Exchange, hosts: AbstractSet[str], scheme: str = "http") -> None:
    """Let a request pass that calls us by one of these names, and comes from no other page.

    Raises Refusal.
    """
    if exchange.repeated and (repeated := sorted(_ONCE & exchange.repeated)):
        raise Refusal(400, f"the header `{repeated[0]}` appears more than once")
    if exchange.header("transfer-encoding") and exchange.header("content-length"):
        # Whoever stands in between may read the one, and we the other.
        message = "`Content-Length` and `Transfer-Encoding` exclude each other"
        raise Refusal(400, message, headers=((b"connection", b"close"),))
    host = (exchange.header("host") or "").lower()
    if host not in hosts:
        raise Refusal(421, "this server is not reached under this `Host`")
    origin = exchange.header("origin")
    if origin is not None and origin.lower() not in {f"{scheme}://{name}" for name in hosts}:
        raise Refusal(403, "pages of this `Origin` may not call this server")


def hosts_of(host: str, port: int) -> frozenset[str]:
    """Every exact `Host` of a server that listens here."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    if not is_any_address(host):
        names.add(in_url(host))
    return frozenset(name for each in names for name in _with_port(each.lower(), port))


def _address_of(exchange: Exchange) -> set[str]:
    """The address itself that the client connected to: a name cannot be bound to it anew."""
    address, port = exchange.local_address or ("", None)
    return set(_with_port(in_url(address), port)) if port is not None else set()


def _with_port(name: str, port: int) -> list[str]:
    return [f"{name}:{port}", name] if port == _HTTP_PORT else [f"{name}:{port}"]
