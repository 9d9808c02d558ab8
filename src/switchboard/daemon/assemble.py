"""The composition root: settings become a board."""

from collections.abc import Iterable

from msgspec import Struct

from switchboard.children.child import Limits
from switchboard.children.pool import ChildPool
from switchboard.core.board import Board
from switchboard.core.catalog import Catalog
from switchboard.core.names import is_reserved
from switchboard.core.ports import Events
from switchboard.core.tools import ToolSpec
from switchboard.pipeline.gates.visibility import Visibility
from switchboard.pipeline.order import build_road
from switchboard.providers.suites.build import build_suites
from switchboard.providers.suites.provider import SuitesProvider
from switchboard.providers.suites.suite import Suite
from switchboard.settings.sections import Settings


class Assembly(Struct, frozen=True):
    """A board, the suites on it, and what was left off it."""

    board: Board
    suites: tuple[Suite, ...]
    omissions: tuple[str, ...]


def assemble(settings: Settings, *, pool: ChildPool, events: Events) -> Assembly:
    """Build the board of these settings. Starts nothing."""
    limits = Limits(
        spawn_s=settings.timeouts.child_spawn_ms / 1000,
        rpc_s=settings.timeouts.rpc_ms / 1000,
        idle_s=settings.timeouts.idle_ms / 1000,
    )
    suites = build_suites(
        settings.servers,
        settings.suites,
        introspection=settings.introspection,
        limits=limits,
        pool=pool,
    )
    visibility = Visibility(allow=settings.tools.allow, deny=settings.tools.deny)
    provider = SuitesProvider(suites)
    providers = {provider.key: provider}
    catalog = Catalog(_offered(provider.specs(), visibility))
    board = Board(
        catalog=catalog,
        providers=providers,
        pipeline=build_road(providers, visibility, events),
    )
    omissions = [str(clash) for clash in catalog.clashes]
    omissions += [
        f"the name `{spec.name}` is reserved ({spec.origin})"
        for spec in provider.specs()
        if is_reserved(spec.name)
    ]
    return Assembly(board, tuple(suites), tuple(omissions))


def _offered(specs: Iterable[ToolSpec], visibility: Visibility) -> list[ToolSpec]:
    return [spec for spec in specs if visibility.shows(spec.name) and not is_reserved(spec.name)]
