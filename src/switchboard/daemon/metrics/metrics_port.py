"""The port that Prometheus asks: its own, so that no client of the team can ask there."""

import hmac
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.metrics.call_figures import CallFigures
from switchboard.daemon.metrics.exposition import MEDIA_TYPE, written
from switchboard.daemon.metrics.team_figures import TeamFigures
from switchboard.daemon.team.membership import Team
from switchboard.surface.http.access import check_names, hosts_of
from switchboard.surface.http.exchange import (
    ClientLeft,
    Exchange,
    HttpReply,
    Receive,
    Refusal,
    Scope,
    Send,
)
from switchboard.surface.http.listener import bind
from switchboard.surface.http.server import served
from switchboard.surface.http.token import check_token
from switchboard.wire.http_hosts import is_loopback

VARIABLE = "SWITCHBOARD_METRICS_TOKEN"
PATH = "/metrics"
_LOOPBACK = "127.0.0.1"
_LAST_PORT = 65_535
_CHALLENGE = ((b"www-authenticate", b'Bearer realm="metrics"'),)


class MetricsPage:
    """An ASGI application with one page."""

    def __init__(
        self, calls: CallFigures, team: TeamFigures, *, token: str, hosts: frozenset[str]
    ) -> None:
        self._calls = calls
        self._team = team
        self._token = token
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            await exchange.reply(await self._answer(exchange))
        except Refusal as refusal:
            await exchange.reply(refusal.reply)
        except ClientLeft:
            return

    async def aclose(self) -> None:
        """Nothing of it is under way for long."""
        self._team.close()

    async def _answer(self, exchange: Exchange) -> HttpReply:
        if self._token:
            scheme, _, shown = (exchange.header("authorization") or "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(
                shown.strip().encode("utf-8", "replace"), self._token.encode()
            ):
                raise Refusal(401, "a bearer token is required", headers=_CHALLENGE)
        else:
            # A page in a browser of this machine could ask under a name of its own.
            check_names(exchange, self._hosts)
        if exchange.path != PATH:
            raise Refusal(404, f"there is nothing here but `{PATH}`")
        if exchange.method != "GET":
            raise Refusal(405, "this method is not offered", headers=((b"allow", b"GET"),))
        await self._team.refresh()
        text = written((*self._team.families(), *self._calls.families()))
        return HttpReply(200, (text.encode(),), media_type=MEDIA_TYPE)


class MetricsPlace(Struct, frozen=True):
    """Where metrics are shown, and the token that one shows there; none on the machine itself."""

    host: str
    port: int
    token: str = ""


def read_place(where: str, environ: Mapping[str, str]) -> MetricsPlace | None:
    """The place that a command names, `HOST:PORT` or a port of this machine; without a word none.

    Raises a fault when it is no place, or others could read what is there.
    """
    if not where:
        return None
    host, _, port = where.rpartition(":")
    host = host.strip("[]") or _LOOPBACK
    if not port.isascii() or not port.isdigit() or int(port) > _LAST_PORT:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "metrics-address",
            f"`{where}` is no place for metrics",
            hint="--metrics 9464, or --metrics 127.0.0.1:9464",
        )
    token = environ.get(VARIABLE, "")
    if token:
        check_token(token, f"`{VARIABLE}`")
    elif not is_loopback(host):
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "metrics-unprotected",
            f"metrics at `{host}` would be read by whoever reaches it",
            hint=f"set {VARIABLE}, or use a port of this machine alone",
        )
    return MetricsPlace(host, int(port), token)


@asynccontextmanager
async def showing_metrics(
    place: MetricsPlace | None, team: Team, runtime: Runtime
) -> AsyncGenerator[None]:
    """Count, and show it for as long as the block lasts. Raises a fault when it cannot listen."""
    if place is None:
        yield
        return
    listening = bind(place.host, place.port, allow_remote=bool(place.token))
    hosts = hosts_of(place.host, listening.getsockname()[1])
    calls = CallFigures(lambda: runtime.settings, lambda: runtime.assembly.catalog.tools)
    page = MetricsPage(calls, TeamFigures(team), token=place.token, hosts=hosts)
    runtime.events.subscribe(calls)
    try:
        async with served(page, listening):
            yield
    finally:
        runtime.events.unsubscribe(calls)
