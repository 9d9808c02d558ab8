"""Serving one gateway of a team over HTTP, in a process of its own."""

import asyncio
from collections.abc import Mapping

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.people import EVERYBODY
from switchboard.daemon.board.reload import Load, serving
from switchboard.daemon.metrics.metrics_port import read_place, showing_metrics
from switchboard.daemon.serve_http import Ready, serve_socket
from switchboard.daemon.team.asked import Asked
from switchboard.daemon.team.doors import open_door, open_page
from switchboard.daemon.team.draining import drained
from switchboard.daemon.team.membership import Team, team_keys
from switchboard.daemon.team.person_boards import PersonBoards
from switchboard.daemon.team.singleton_routes import SingletonRoutes
from switchboard.daemon.team.singletons import running_singletons
from switchboard.daemon.team.team_news import sharing_news
from switchboard.postgres.address import read_address
from switchboard.postgres.agreed_lease import VARIABLE as LEASE_VARIABLE
from switchboard.settings.sections import Settings
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.listener import bind, url_of
from switchboard.surface.http.relay import Relay
from switchboard.surface.http.token import VARIABLE, bearer_token
from switchkit.open_files import raise_file_limit

# As many clients as may be connected, and as much again for children and files.
_OPEN_FILES = 8_192


async def serve_team(
    settings: Settings,
    environ: Mapping[str, str],
    database: str,
    *,
    # Under which names clients reach it, and where other gateways do; empty for where it listens.
    names: tuple[str, ...] = (),
    reached_at: str = "",
    # Where Prometheus asks; empty for nowhere.
    metrics: str = "",
    # How long it stays reachable, and its calls go on, once it is to stop.
    linger_s: float = 5.0,
    drain_s: float = 60.0,
    ready: Ready | None = None,
    load: Load | None = None,
    is_pinned: bool = False,
) -> int:
    """Serve until a signal comes, and drain then; a second one ends it at once.

    Raises a fault when it cannot begin.
    """
    people = settings.people
    if not environ.get(VARIABLE) and (people.shared_token or not people.is_on):
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "team-token-missing",
            "the gateways of a team have one token for their clients, and here is none",
            hint=f"set {VARIABLE}",
        )
    address, keys = read_address(database), team_keys(environ)
    place = read_place(metrics, environ)
    token = ""
    if people.shared_token or not people.is_on:
        token = bearer_token(settings.home, environ)
    door = open_door(people, environ)
    raise_file_limit(_OPEN_FILES)
    listener = settings.listener
    listening = bind(listener.host, listener.port, allow_remote=listener.allow_remote)
    port = listening.getsockname()[1]
    url = url_of(listening)
    here = (reached_at or url.rpartition("/")[0]).rstrip("/")
    hosts = hosts_of(listener.host, port) | {name.lower() for name in names}
    hosts |= {here.rpartition("/")[2].lower()}
    asked = Asked()
    team = await asyncio.to_thread(
        lambda: Team(
            address,
            keys,
            name=here.rpartition("/")[2],
            reached_at=here,
            lease=environ.get(LEASE_VARIABLE, ""),
        )
    )
    access = Access(token=token, hosts=frozenset(hosts), bearer=EVERYBODY, door=door)
    try:
        async with (
            serving(settings, environ, load, team=team) as runtime,
            running_singletons(team, runtime) as singletons,
            sharing_news(team, runtime, singletons),
            showing_metrics(place, team, runtime),
            serve_socket(
                runtime,
                listening,
                access,
                is_pinned=is_pinned,
                relay=Relay(team),
                entrance_key=team.entrance_key,
                singletons=SingletonRoutes(team, runtime, singletons),
                views=PersonBoards(runtime) if people.is_on else None,
                page=open_page(lambda: runtime.settings.people, door, team, access),
            ) as surface,
        ):
            if ready is not None:
                ready(url)
            await asked.to_stop
            await drained(surface, listening, team, asked, linger_s=linger_s, limit_s=drain_s)
    finally:
        if door is not None:
            await door.aclose()
        await asyncio.to_thread(team.close)
    return 0
