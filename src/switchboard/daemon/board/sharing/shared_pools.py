"""The pools of children that boards of one daemon share: one for all servers that see the same.

Boards are told apart by their whole environment, children by what of it they see. So two sessions
that differ in what one server sees have that one twice, and every other once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from switchboard.children.child import Child
from switchboard.children.listings.listing_cache import ListingCaches
from switchboard.children.pool import ChildPool
from switchboard.children.schema import ServerEntry, as_a_process
from switchboard.children.sharing.likeness import Likeness, Likenesses, differing, seen_by
from switchboard.core.events import Event
from switchboard.core.loop.tasks import close_all
from switchboard.core.ports import Events
from switchboard.daemon.board.vault_secrets import VaultSecrets
from switchboard.vault.options import VaultOptions

# What is made of the rest of an entry.
_DERIVED = frozenset({"fingerprint", "seal", "grants", "filled"})


class PoolKey(Struct, frozen=True):
    """What the servers of two boards have to agree in to come from one pool."""

    # The workspace; empty for servers of all workspaces.
    folder: str = ""
    # The file that the user named, which sets a board apart whatever it says.
    config: str = ""
    # What they see; nothing for those that are shared whatever they would see.
    likeness: Likeness | None = None


class Listeners:
    """Who is told what children do: one of the boards that use them, and others after that."""

    def __init__(self, last: Events) -> None:
        self._last = last
        self._boards: list[Events] = []

    def add(self, events: Events) -> None:
        self._boards.append(events)

    def remove(self, events: Events) -> None:
        self._boards.remove(events)

    def emit(self, event: Event, /) -> None:
        (self._boards[0] if self._boards else self._last).emit(event)

    def __len__(self) -> int:
        return len(self._boards)


class SharedPool(Struct, frozen=True, eq=False):
    """A pool, where its secrets come from, and the boards that use it."""

    pool: ChildPool
    secrets: VaultSecrets
    listeners: Listeners


class BoardPlace(Struct, frozen=True, eq=False, kw_only=True):
    """The board that servers are wanted for."""

    workspace: str
    config: str
    environ: Mapping[str, str]
    events: Events
    caches: ListingCaches | None
    # Told what kind of listing changed, and for which session.
    announce: Callable[[str, str], None]


# Makes the pool of a key for whoever sees this environment.
MakePool = Callable[[PoolKey, Mapping[str, str], ListingCaches | None], SharedPool]


class SharedPools:
    """Every pool that several boards may use, by what makes it that pool."""

    def __init__(self, make: MakePool) -> None:
        self._make = make
        self._pools: dict[PoolKey, SharedPool] = {}

    def of(
        self, key: PoolKey, environ: Mapping[str, str], caches: ListingCaches | None
    ) -> SharedPool:
        """The pool of a key, made by whoever comes first."""
        if key not in self._pools:
            self._pools[key] = self._make(key, environ, caches)
        return self._pools[key]

    def retain(self, children: Sequence[Child]) -> None:
        """Let go of every child that no board leads to any more."""
        for each in self._pools.values():
            each.pool.retain(children)

    def close_unused(self) -> None:
        """Forget the pools, and with them the environments, that no board and no child needs."""
        for key, each in tuple(self._pools.items()):
            if not each.listeners and each.pool.is_empty:
                del self._pools[key]

    def children(self) -> Iterator[tuple[Child, str, tuple[str, ...]]]:
        """Every child with its workspace, if any, and what keeps it apart from an earlier one."""
        first: dict[tuple[str, str], tuple[PoolKey, Child]] = {}
        for key, each in tuple(self._pools.items()):
            for child in each.pool:
                whose = key.folder, child.entry.label
                earlier = first.setdefault(whose, (key, child))
                yield child, key.folder, _apart(earlier, (key, child))

    def __len__(self) -> int:
        """How many environments are remembered."""
        return len(self._pools)

    async def aclose(self) -> None:
        """End every child."""
        await close_all(each.pool.aclose() for each in self._pools.values())


class PoolsOfBoard:
    """The pools that the servers of one board come from, entered by the first that needs one."""

    def __init__(self, pools: SharedPools, board: BoardPlace) -> None:
        self._pools = pools
        self._board = board
        self._entered: dict[PoolKey, SharedPool] = {}

    def __iter__(self) -> Iterator[ChildPool]:
        return (each.pool for each in self._entered.values())

    def finder(self) -> Callable[[ServerEntry], ChildPool]:
        """What gives the pool of an entry. Folders are looked at once for each finder."""
        likenesses = Likenesses()
        return lambda entry: self._of(entry, likenesses)

    def _of(self, entry: ServerEntry, likenesses: Likenesses) -> ChildPool:
        board = self._board
        seen = seen_by(entry, board.environ)
        # What a workspace wrote stays in it: trust in it says nothing of other folders.
        folder = "" if entry.scope == "user" and not entry.fingerprint else board.workspace
        if entry.share == "loose":
            seen = dict(board.environ)
            key = PoolKey(folder)
        else:
            config = board.config if folder else ""
            key = PoolKey(folder, config, likenesses.of(entry, seen))
        if key not in self._entered:
            shared = self._entered[key] = self._pools.of(key, seen, board.caches)
            shared.listeners.add(board.events)
            shared.pool.on_changed.add(board.announce)
        return self._entered[key].pool

    def use_vault(self, home: str, options: VaultOptions) -> None:
        """Where the children have their secrets from."""
        for each in self._entered.values():
            each.secrets.use(home, options)

    def leave(self) -> None:
        """The board is closed."""
        while self._entered:
            _, shared = self._entered.popitem()
            shared.listeners.remove(self._board.events)
            shared.pool.on_changed.discard(self._board.announce)


def _apart(earlier: tuple[PoolKey, Child], found: tuple[PoolKey, Child]) -> tuple[str, ...]:
    """Why two children of one server are two. Names alone: values may be secret."""
    (one, first), (other, second) = earlier, found
    names = set(differing(one.likeness or frozenset(), other.likeness or frozenset()))
    places = (f"entry.{place}" for place in _unlike(first.entry, second.entry))
    return (*(("--config",) if one.config != other.config else ()), *sorted(names), *places)


def _unlike(one: ServerEntry, other: ServerEntry) -> Iterator[str]:
    """Where two entries of one name say different things, as by a variable that fills them."""
    ours, theirs = asdict(as_a_process(one)), asdict(as_a_process(other))
    for field in (each for each in ours if ours[each] != theirs[each] and each not in _DERIVED):
        if field in {"env", "headers"}:
            unlike = {*ours[field].items()} ^ {*theirs[field].items()}
            yield from (f"{field}.{name}" for name in sorted({name for name, _ in unlike}))
        else:
            yield field
