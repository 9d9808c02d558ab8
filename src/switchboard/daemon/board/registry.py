"""The boards of a daemon: one for each workspace, configuration and environment that clients have.

Sessions share a board, and with it children, only where everything is alike that a child could see.
Which variables those are is known only once the files have been read, so a board is negotiated:

    hello ──▶ ask for the variables that settings always look at, and for those of the last time
                │
                ├─▶ a board of exactly these values is there, its files unchanged ──▶ that one
                ▼
              read the files with the values that are known
                │
                ├─▶ they name variables that were not asked for ──▶ ask for those, and read again
                ▼
              leave out what they do not name ──▶ the board of the values that remain
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from functools import partial

from msgspec import Struct

from switchboard.children.starting.runner_variables import is_harmless
from switchboard.config.locate import WORKSPACE_VARIABLE
from switchboard.config.problems import ConfigInvalid
from switchboard.core.board_mark import board_mark
from switchboard.core.bus import EventBus, Subscriber
from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.daemon.board.assemble import Assembly, assemble
from switchboard.daemon.board.reload import Load, Reloader
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.board.sharing.shared_children import SharedChildren
from switchboard.daemon.hello import Hello
from switchboard.daemon.logs.log import Log, log_for
from switchboard.daemon.logs.recent_events import RecentEvents
from switchboard.daemon.session_environment import (
    OWN_NAMES,
    Lookup,
    absolute,
    first_environ,
    is_named,
    names_in,
    wants_everything,
    with_absolute_paths,
)
from switchboard.daemon.sessions.login_path import LoginPath
from switchboard.daemon.trees.unasked import UnaskedVariables
from switchboard.ipc.protocol import ABI, EVERYTHING
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings
from switchboard.settings.usable import StandIns, last_readings, usable_settings

# Gives the values of variables as the client has them.
Ask = Callable[[Sequence[str]], Awaitable[dict[str, str]]]

_MOST_ROUNDS = 6
_REST_S = 600.0


class EndlessQuestions(Exception):
    """The configuration names further variables each time that it is read."""


class BoardKey(Struct, frozen=True):
    """What makes two sessions share a board."""

    workspace: str
    config: str
    # What was asked for. That a variable is not set is known only of those.
    names: frozenset[str]
    environ: frozenset[tuple[str, str]]


class BoardHandle:
    """One runtime, and how many sessions it has."""

    def __init__(self, key: BoardKey, runtime: Runtime, log: Log, load: Load) -> None:
        self.key = key
        # Of the boards of this daemon, the how many-th.
        self.number = 0
        self._log = log
        self.runtime = runtime
        # The settings for which a client was asked everything that they refer to.
        self.settled = runtime.settings
        self.started_at = time.time()
        self.attachments = 0
        self.unused_since = time.monotonic()
        self.reloader = Reloader(runtime, load)
        # By which whatever was started for it finds it again.
        self.mark = board_mark(runtime.settings.workspace, dict(key.environ))
        self.watching = TaskSet()
        self.watching.start(self.reloader.watch())

    @property
    def server_names(self) -> set[str]:
        """The servers that it has."""
        return {entry.name for entry in self.runtime.settings.servers}

    async def is_settled(self) -> bool:
        """Whether its files are as they were when a client was asked for what they name."""
        await self.reloader.look()
        return self.reloader.invalid is None and self.runtime.settings is self.settled

    async def settle(self) -> None:
        """Note that a client was asked for everything that the files name now."""
        await self.reloader.look()
        self.settled = self.runtime.settings

    async def be_visited(self) -> None:
        """A session of another board comes here. It finds the folder that is there now."""
        self.unused_since = time.monotonic()
        if await asyncio.to_thread(lambda: self.runtime.is_replaced):
            await self.reloader.reload()

    @property
    def is_visited(self) -> bool:
        """Whether sessions of other boards have been here, and are to find it as they left it."""
        if self.attachments or self.is_abandoned:
            return False
        return bool(self.runtime.sessions) or any(
            child.connection.in_flight for child in self.runtime.needed()
        )

    @property
    def is_abandoned(self) -> bool:
        """Whether its folder is gone, and nobody began there who could be told."""
        return not self.attachments and not os.path.isdir(self.runtime.settings.workspace)

    def enter(self) -> None:
        self.attachments += 1

    def leave(self) -> None:
        self.attachments -= 1
        self.unused_since = time.monotonic()

    async def aclose(self) -> None:
        async with AsyncExitStack() as then:
            then.callback(self._log.close)
            then.push_async_callback(self.runtime.aclose)
            await self.watching.aclose()


class BoardRegistry:
    """Finds the board of a client, or builds it."""

    def __init__(
        self, recent_events: RecentEvents, shared_children: SharedChildren, *more: Subscriber
    ) -> None:
        self._recent_events = recent_events
        self._more = more
        self._shared_children = shared_children
        self._handles: dict[BoardKey, BoardHandle] = {}
        self._count = 0
        self._login_path = LoginPath(shared_children.reaper)
        # The variables that were asked for last time, so that once is enough this time.
        self._names: dict[tuple[str, str, str], frozenset[str]] = {}
        # The boards of other folders that sessions of a board have moved to.
        self._trees: dict[tuple[BoardKey, str], BoardKey] = {}

    def __iter__(self) -> Iterator[BoardHandle]:
        return iter(tuple(self._handles.values()))

    async def board_for(self, hello: Hello, ask: Ask) -> BoardHandle:
        """The board of this client. Raises `ConfigInvalid`, `EndlessQuestions`, what `ask` does."""
        if hello.board:
            marked = [board for board in self if board.mark == hello.board]
            # Two of them differ in the file that their users named: what is wanted tells which.
            marked.sort(key=lambda board: hello.bridge not in board.server_names)
            if marked:
                return marked[0]
        place = (hello.cwd, hello.workspace, hello.config)
        names = OWN_NAMES | self._names.get(place, frozenset())
        environ = {**first_environ(hello), **await ask(_listed(names))}
        for _ in range(_MOST_ROUNDS):
            found = await self._try(hello, environ, names)
            if isinstance(found, BoardHandle):
                self._remember(place, found.key.names - OWN_NAMES)
                return found
            names |= found
            environ |= await ask(_listed(found))
        raise EndlessQuestions("the configuration asks for ever more variables")

    def _remember(self, place: tuple[str, str, str], names: frozenset[str]) -> None:
        if names:
            self._names[place] = names
        else:
            self._names.pop(place, None)

    async def _try(
        self, hello: Hello, given: dict[str, str], names: frozenset[str]
    ) -> BoardHandle | frozenset[str]:
        """The board, or the names of the variables that have to be asked for first."""
        key, environ = _key_for(hello, given, names)
        board = self._handles.get(key)
        if board is not None and await board.is_settled():
            return board
        lookup = Lookup(environ)
        try:
            # Files are read and hashed, which others must not wait for.
            settings = await asyncio.to_thread(_load, key, lookup, self._last_good())
        except ConfigInvalid:
            # It may be invalid only because a variable is not known yet.
            unknown = _unknown(lookup.missed, names)
            if not unknown:
                raise
            return unknown
        if unknown := _unknown(_named(settings, lookup), names):
            return unknown
        longer = await self._login_path.longer(settings.servers, environ)
        if longer != environ.get("PATH", ""):
            return await self._try(hello, {**given, "PATH": longer}, names)
        if not wants_everything(settings):
            told = first_environ(hello)
            names = OWN_NAMES | names_in(settings) | (lookup.sought - told.keys())
            given = {
                name: text
                for name, text in given.items()
                if name in told or (is_named(name, names) and is_harmless(name))
            }
        key, environ = _key_for(hello, given, names)
        board = self._handles.get(key)
        if board is None:
            # A sandbox may be tried, which takes a moment; another client may be quicker.
            assembly = await asyncio.to_thread(assemble, settings, environ)
            board = self._handles.get(key)
            if board is None:
                return self._host(key, environ, settings, assembly, first_environ(hello).keys())
        await board.settle()
        return board

    def _host(
        self,
        key: BoardKey,
        environ: dict[str, str],
        settings: Settings,
        assembly: Assembly,
        told: AbstractSet[str],
    ) -> BoardHandle:
        log = log_for(settings)
        events = EventBus(log, self._recent_events.subscriber(settings.workspace), *self._more)
        runtime = Runtime(
            settings,
            environ=environ,
            events=events,
            shared_children=self._shared_children,
            config=key.config,
            assembly=assembly,
            open_tree=partial(self._open_tree, key, frozenset(told)),
        )
        runtime.on_retired = self.prune
        board = BoardHandle(key, runtime, log, partial(_load, key, environ))
        self._count += 1
        board.number = self._count
        self._handles[key] = board
        return board

    async def _open_tree(self, key: BoardKey, told: frozenset[str], root: str) -> Runtime:
        """What runs in another folder for sessions of a board, as if they had started there.

        Raises `ConfigInvalid`, `UnaskedVariables`.
        """
        known = self._handles.get(self._trees.get((key, root), key))
        if known is not None and known.key != key and await known.is_settled():
            await known.be_visited()
            return known.runtime
        environ = dict(key.environ)
        hello = Hello(
            magic="switchboard",
            abi=ABI,
            kind="client",
            home=environ["SWITCHBOARD_HOME"],
            cwd=root,
            workspace=root,
            config=key.config,
            # What their hello brought; the rest they were asked for.
            environ={name: text for name, text in environ.items() if name in told},
        )
        board = await self._try(hello, environ, key.names)
        if not isinstance(board, BoardHandle):
            raise UnaskedVariables
        self._trees[key, root] = board.key
        await board.be_visited()
        return board.runtime

    def differences(self, board: BoardHandle) -> tuple[str, ...]:
        """What keeps a board apart from an earlier one of the same folder: options and variables.

        Names alone: values may be secret.
        """
        key, folder = board.key, board.runtime.settings.workspace
        numbered = [each for each in self if each.number < board.number]
        earlier = [each.key for each in numbered if each.runtime.settings.workspace == folder]
        if not earlier:
            return ()
        other = next((each for each in earlier if each.config == key.config), earlier[0])
        options = {
            # The same folder by another name, as through a link.
            "--workspace": other.workspace != key.workspace,
            "--config": other.config != key.config,
        }
        # Of some nobody has asked a client of the one, because its files did not name them then.
        names = {name for name, _ in other.environ ^ key.environ} | (other.names ^ key.names)
        return (*(each for each, is_unlike in options.items() if is_unlike), *sorted(names))

    def _last_good(self) -> StandIns:
        """What files held when they could last be used: an edit must not cut off newcomers."""
        return last_readings(board.runtime.settings for board in self)

    def prune(self) -> None:
        """Let go of shared children that no board leads to any more."""
        needed = [child for board in self for child in board.runtime.needed()]
        self._shared_children.pools.retain(needed)

    async def close_unused(self, rest_s: float = _REST_S) -> None:
        """Close the boards that have had no session for a while."""
        now = time.monotonic()
        for key, board in tuple(self._handles.items()):
            works = self._shared_children.works_in(board.runtime.settings.workspace)
            if works or board.is_visited:
                # Its agents are at work though nobody watches, or sessions from elsewhere are here.
                board.unused_since = now
            elif not board.attachments and (
                now - board.unused_since >= rest_s or board.is_abandoned
            ):
                del self._handles[key]
                for pair in [each for each in self._trees if key in (each[0], self._trees[each])]:
                    del self._trees[pair]
                try:
                    await board.aclose()
                finally:
                    self.prune()
        self._shared_children.pools.close_unused()

    async def aclose(self) -> None:
        """Close every board."""
        boards = tuple(self._handles.values())
        self._handles.clear()
        await close_all((self._login_path.aclose(), *(each.aclose() for each in boards)))


def _key_for(
    hello: Hello, given: Mapping[str, str], names: frozenset[str]
) -> tuple[BoardKey, dict[str, str]]:
    environ = with_absolute_paths(given, hello.cwd)
    workspace = hello.workspace or environ.get(WORKSPACE_VARIABLE) or hello.cwd
    key = BoardKey(
        absolute(workspace, hello.cwd),
        absolute(hello.config, hello.cwd) if hello.config else "",
        names,
        frozenset(environ.items()),
    )
    return key, environ


def _load(key: BoardKey, environ: Mapping[str, str], last_good: StandIns) -> Settings:
    load = partial(
        load_settings,
        workspace=key.workspace,
        environ=environ,
        flags={"transport": "stdio"},
        config=key.config or None,
    )
    return usable_settings(load, last_good)


def _named(settings: Settings, lookup: Lookup) -> set[str]:
    """What has to be known of a client before these settings can be used for it."""
    return {EVERYTHING} if wants_everything(settings) else lookup.missed | names_in(settings)


def _unknown(wanted: set[str], names: frozenset[str]) -> frozenset[str]:
    """What of it has not been asked for yet; who told everything is asked for nothing."""
    return frozenset() if EVERYTHING in names else frozenset(wanted - names)


def _listed(names: Iterable[str]) -> Sequence[str]:
    return (EVERYTHING,) if EVERYTHING in names else sorted(names)
