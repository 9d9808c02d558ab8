"""The daemon: takes clients and commands from its socket, and ends when nobody needs it."""

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from switchboard.config.problems import ConfigInvalid
from switchboard.control.connection import SocketConnection
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.daemon.attachment import Attachment
from switchboard.daemon.board.registry import BoardHandle, EndlessQuestions
from switchboard.daemon.held_files import HeldFiles, hold_for_client, too_many_files
from switchboard.daemon.hello import Hello, NoHello, read_hello, read_values
from switchboard.daemon.logs.stderr import keep_small, write_failure
from switchboard.daemon.page_note import noted_page
from switchboard.daemon.serve import until_signal
from switchboard.daemon.sessions.host_environment import as_person_has_it
from switchboard.daemon.state import DaemonState
from switchboard.ipc.lines import Gone
from switchboard.ipc.protocol import (
    ABI,
    BEAT_S,
    CONTROL,
    DECLINED,
    DRAIN,
    DRAINING,
    GREETING_S,
    MAX_ENVIRONMENT_BYTES,
    MAX_HELLO_BYTES,
    NEED,
    OTHER_ABI,
    READY,
    REFUSED,
)
from switchboard.procs.containers import container_notes, sweep
from switchboard.runs.places import has_runs
from switchboard.sandbox.groups.left_groups import sweep_groups

if TYPE_CHECKING:
    from switchboard.control.api import Control
    from switchboard.settings.sections import Settings

_TIDY_S = 1.0
# Longer than HTTP takes to let its last clients go.
_LAST_CALLS_S = 5.0
# So long a daemon that makes way for another waits for its runs.
_LAST_RUNS_S = 3600.0
# What a client hands over: one stream for each direction, and the two files of their ledger, which
# are open once more while they are mapped.
_FILES_OF_CLIENT = 6


class Daemon:
    """Serves whoever comes, for as long as somebody does."""

    def __init__(self, state: DaemonState) -> None:
        self._state = state
        self._tasks = TaskSet()
        self._busy_at = time.monotonic()

    async def run(self, ready: "int | None" = None) -> int:
        """Serve until nobody needs us, somebody stops us, or a signal comes."""
        signalled = until_signal()
        self._state.socket.start(self._arrive)
        if ready is not None:
            # Whoever started us may have gone meanwhile; others will come.
            with contextlib.suppress(OSError):
                os.write(ready, b"ready\n")
            os.close(ready)
        self._tasks.start(self._beat())
        self._tasks.start(self._tidy())
        if has_runs(self._state.places.home):
            self._tasks.start(self._settle_runs())
        if noted_page(self._state.places.home).is_open:
            self._tasks.start(self._serve_page())
        self._tasks.start(self._remove_containers())
        self._tasks.start(self._remove_groups())
        await asyncio.wait({self._state.stopping, signalled}, return_when=asyncio.FIRST_COMPLETED)
        await self._aclose()
        return 0

    # Arrivals

    def _arrive(self, connection: SocketConnection) -> None:
        self._busy_at = time.monotonic()
        self._tasks.start(self._receive(connection))

    async def _receive(self, connection: SocketConnection) -> None:
        try:
            hello = read_hello(await connection.line(MAX_HELLO_BYTES, GREETING_S))
            if hello.kind == CONTROL:
                # As below.
                from switchboard.control.socket import serve_requests  # noqa: PLC0415

                await serve_requests(self._control(connection), connection)
            elif hello.abi != ABI:
                await self._make_way(connection)
            elif self._state.is_draining:
                connection.say(DRAINING)
            elif not _is_same_folder(hello.home, self._state.places.home):
                connection.say(f"{DECLINED} it serves another home, `{self._state.places.home}`")
            else:
                await self._take_in(connection, hello)
        except (Gone, NoHello, TimeoutError):
            # It left, or was nobody we know: there is nothing to say to it.
            pass
        except Exception:  # noqa: BLE001 - one connection must not end the others
            write_failure()
        finally:
            connection.close()
            self._busy_at = time.monotonic()

    def _control(
        self, connection: SocketConnection, attachment: Attachment | None = None
    ) -> "Control":
        # Most clients are shims, which wait for every import of ours and ask for none of this.
        from switchboard.daemon.control import DaemonControl  # noqa: PLC0415

        return DaemonControl(self._state, connection.pid, attachment)

    async def _make_way(self, connection: SocketConnection) -> None:
        """A client of another version wants a daemon of its own."""
        connection.say(f"{OTHER_ABI} {ABI}")
        if await connection.line(MAX_HELLO_BYTES, GREETING_S) == DRAIN.encode():
            self._state.drain()
            connection.say(DRAINING)

    async def _take_in(self, connection: SocketConnection, hello: Hello) -> None:
        """Serve a client if there is room for its streams, and for those who are here already."""
        held = hold_for_client(_FILES_OF_CLIENT)
        if held is None:
            connection.say(f"{DECLINED} {too_many_files()}")
            return
        try:
            # Our word for it, so that two words for one home make no two boards.
            await self._attach(connection, replace(hello, home=self._state.places.home), held)
        finally:
            held.close()

    async def _attach(self, connection: SocketConnection, hello: Hello, held: HeldFiles) -> None:
        board = await self._board_for(connection, hello)
        if board is None:
            return
        settings = None
        if hello.bridge:
            try:
                settings = await _bridged(board, hello)
            except Fault as fault:
                connection.say(f"{REFUSED} {_one_line(fault.message)}\t{_one_line(fault.hint)}")
                return
        shared = self._state.shared_children
        attachment = Attachment(connection, hello, board, settings, runs=lambda: shared.open_runs)
        self._state.attachments.add(attachment)
        board.enter()
        try:
            connection.make_room = held.close
            connection.say(READY)
            await attachment.stay(lambda: self._control(connection, attachment))
        finally:
            self._state.attachments.discard(attachment)
            board.leave()

    async def _board_for(self, connection: SocketConnection, hello: Hello) -> BoardHandle | None:
        """The board of this client; one that cannot have any is told why."""

        async def ask(names: Sequence[str]) -> dict[str, str]:
            connection.say(f"{NEED} {' '.join(names)}")
            return read_values(await connection.line(MAX_ENVIRONMENT_BYTES, GREETING_S))

        try:
            return await self._state.boards.board_for(*as_person_has_it(hello, ask, connection.pid))
        except ConfigInvalid:
            # The shim reads the same files, and tells its user what is wrong with them.
            why = "the configuration cannot be used as it is"
        except EndlessQuestions as error:
            why = str(error)
        except (Gone, NoHello, TimeoutError):
            raise
        except Exception as error:  # noqa: BLE001 - the shim does without us, and says why
            write_failure()
            why = f"it failed ({type(error).__name__}), see its log"
        connection.say(f"{DECLINED} {why}")
        return None

    # Passing time

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._say_that_we_live()

    def _say_that_we_live(self) -> None:
        # Of its own, so that nobody is held from one beat to the next who has left meanwhile.
        for attachment in tuple(self._state.attachments):
            attachment.beat()

    async def _serve_page(self) -> None:
        """The daemon before us served it, and browsers still have it open."""
        # As above.
        from switchboard.daemon.control import DaemonControl  # noqa: PLC0415

        try:
            await DaemonControl(self._state, 0).served_page(only_there=True)
        except Fault:
            # Whoever opens it is told.
            write_failure()

    def _is_watched(self) -> bool:
        page = self._state.page
        return page is not None and page.is_watched

    async def _settle_runs(self) -> None:
        """A daemon before us may have been killed with runs at work."""
        try:
            await self._state.shared_children.runs(self._state.places.home).settle()
        except Fault:
            # Whoever asks for runs is told.
            write_failure()

    async def _remove_containers(self) -> None:
        """A daemon before us may have been killed, and its reaper with it."""
        notes = container_notes(self._state.places.home)
        if await asyncio.to_thread(os.path.isdir, notes):
            await asyncio.to_thread(sweep, notes)

    async def _remove_groups(self) -> None:
        """A daemon before us may have been killed while its children were counted."""
        await asyncio.to_thread(sweep_groups)

    async def _tidy(self) -> None:
        state = self._state
        while True:
            await asyncio.sleep(_TIDY_S)
            if state.attachments or self._is_held_by_runs() or self._is_watched():
                self._busy_at = time.monotonic()
            elif state.is_draining or 0 < state.idle_s <= time.monotonic() - self._busy_at:
                state.stop()
            try:
                keep_small(state.places.log)
                await state.boards.close_unused()
            except Exception:  # noqa: BLE001 - whatever it is, we must go on to end ourselves
                write_failure()

    def _is_held_by_runs(self) -> bool:
        """Whether agents are at work. One that asks a person who never comes drains in the end."""
        state = self._state
        if not state.shared_children.works_in(""):
            return False
        return not state.drains_since or time.monotonic() - state.drains_since < _LAST_RUNS_S

    async def _aclose(self) -> None:
        state = self._state
        state.socket.close()
        await state.close_page(is_last=state.stopping.done())
        for attachment in tuple(state.attachments):
            if state.stopping.done():
                attachment.dismiss()
            else:
                # A signal ends this process, not its clients.
                attachment.hand_back(at_once=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_CALLS_S):
                while state.attachments:  # noqa: ASYNC110 - each of them ends by itself
                    await asyncio.sleep(0.005)
                await state.unfinished.wait()
        # They say that they were interrupted, for which they need their boards.
        with contextlib.suppress(Fault):
            await state.shared_children.end_runs()
        async with contextlib.AsyncExitStack() as then:
            then.callback(state.log.close)
            then.push_async_callback(state.shared_children.aclose)
            then.push_async_callback(state.boards.aclose)
            if state.notices is not None:
                then.push_async_callback(state.notices.aclose)
            await close_all((self._tasks.aclose(), state.unfinished.aclose()))


async def _bridged(board: BoardHandle, hello: Hello) -> "Settings":
    """The settings of a bridge, with the servers of its agent if it has one. Raises a fault."""
    # Few clients want it, and files may be read for it.
    from switchboard.settings.bridged import bridged  # noqa: PLC0415

    settings = board.runtime.settings
    return await asyncio.to_thread(bridged, settings, hello.bridge, agent=hello.agent)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_same_folder(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
