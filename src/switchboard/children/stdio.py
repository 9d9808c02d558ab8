"""A child that is a process of ours, spoken to over its standard streams."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from switchboard.children.faults import fault_from_exchange
from switchboard.children.link import MakePeer
from switchboard.children.redaction import Redaction
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import LookedUp
from switchboard.children.starting.containers import in_container
from switchboard.children.starting.start_folder import command_line, fault_from_old_python
from switchboard.children.starting.watched_start import WatchedStart
from switchboard.children.trees.standing import Standing
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.privacy.secrets import SecretBook
from switchboard.procs.containers import ContainerStart
from switchboard.procs.outlet import WayOut
from switchboard.procs.spawn import Running, SpawnSpec, Wrap, spawn
from switchboard.procs.stderr_log import LoggedTail, StderrLog
from switchboard.procs.stop import stop
from switchboard.wire.frames import FrameStyle
from switchboard.wire.peer import Peer
from switchboard.wire.pipes import Loss, StreamPipe
from switchkit.reaper_client import Reaper

# After a process has ended its last words may still be in the pipe.
_LAST_WORDS_S = 0.1
_LAST_WORDS = 2_000
# More is read than is told, so that no secret is cut in two before it is found.
_READ_WORDS = 16_000


class _WalledPipe(StreamPipe):
    """The pipe of a confined process, which is heard while its walls stand."""

    def __init__(self, running: Running, *, style: FrameStyle) -> None:
        super().__init__(style=style)
        self._running = running

    def data_received(self, data: bytes) -> None:
        if self._running.stands():
            super().data_received(data)


class StdioLink:
    """The way to a running process."""

    trouble = ""
    # A process is there until it ends.
    answered_at = 0.0
    # Ends with it.
    way_out: WayOut | None = None
    # Removed with it.
    container: ContainerStart | None = None
    # Closed once it has been asked.
    start_watch: WatchedStart | None = None
    # Closed with it, where it may stand in its folder only for so long.
    standing: Standing | None = None

    def __init__(
        self,
        running: Running,
        pipe: StreamPipe,
        peer: Peer,
        hidden: Redaction,
        secrets: LookedUp | None,
        *,
        entry: ServerEntry,
    ) -> None:
        self._entry = entry
        self._removal: asyncio.Future[None] | None = None
        self._running = running
        # A process keeps what it was started with.
        self.secrets = secrets
        self.hidden = hidden
        self._pipe = pipe
        self.peer = peer
        self.pid = running.pid
        running.exited.add_done_callback(self._exited)

    def _exited(self, _: object) -> None:
        if self.container is not None:
            # Also where nobody closes the link for long: a server that crashed.
            is_killed = self._running.exited.result() < 0
            self._removal = asyncio.ensure_future(self.container.remove(is_unsure=is_killed))
        # A grandchild may hold the pipe open, so its end cannot be waited for.
        asyncio.get_running_loop().call_later(_LAST_WORDS_S, self._pipe.lose, Loss())

    def attend(self, channel: Callable[[], Channel | None]) -> None:
        if self.way_out is not None:
            self.way_out.attend(channel)

    async def doubt(self) -> Fault | None:
        watch, self.start_watch = self.start_watch, None
        if watch is None:
            return None
        try:
            has_moved = await asyncio.to_thread(watch.moved)
        finally:
            watch.close()
        return fault_from_exchange(self._entry.name) if has_moved else None

    async def diagnosis(self) -> tuple[str, str]:
        await asyncio.wait({self._running.exited}, timeout=_LAST_WORDS_S * 2)
        errors = self._running.errors
        last_words = self.hidden.end_of(
            errors.text(_READ_WORDS), _LAST_WORDS, is_cut=errors.seen_bytes > _READ_WORDS
        )
        if not self._running.stands():
            last_words = ""
        if not self._running.exited.done():
            return "it closed its output", last_words
        status = self._running.exited.result()
        ended = f"it ended with status {status}" if status >= 0 else f"signal {-status} ended it"
        return ended, last_words

    def denial(self) -> Fault | None:
        if not self._running.exited.done():
            return None
        denied = self._running.denial()
        return denied or fault_from_old_python(self._entry, self._running.errors.text())

    def appeared(self) -> tuple[str, ...]:
        return self._running.appeared()

    async def aclose(self) -> None:
        try:
            await self._end()
        finally:
            if self.standing is not None:
                self.standing.close()

    async def _end(self) -> None:
        if self.start_watch is not None:
            self.start_watch.close()
        # The peer closes the input, by which a process may end at once and leave others behind: so
        # not before it was looked whom it has started.
        await stop(self._running, close_input=self.peer.aclose)
        self._pipe.abort(Loss(message="closed"))
        if self.container is not None:
            await self.container.remove()
        if self.way_out is not None:
            await self.way_out.aclose()


async def open_stdio(
    entry: ServerEntry,
    make_peer: MakePeer,
    *,
    cwd: str,
    env: Mapping[str, str],
    reaper: Reaper,
    wrap: Wrap | None = None,
    secrets: LookedUp | None = None,
    # What is known beside the variables of its own.
    book: SecretBook,
    # Closed with the link.
    way_out: WayOut | None = None,
    # Where containers are noted for whoever comes after us.
    notes: str = "",
    # Where its stderr is kept for its user.
    log: StderrLog | None = None,
    # The workspace that it works for at the moment.
    works_for: Callable[[], str] = lambda: "",
    timeout_s: float,
) -> StdioLink:
    """Start the child's process and connect to it."""
    spec = SpawnSpec(
        argv=command_line(entry),
        cwd=cwd,
        env=env if way_out is None else {**env, **way_out.env},
        wrap=wrap,
        outlet=None if way_out is None else way_out.outlet,
    )
    run = in_container(entry)
    container = ContainerStart.new() if run is not None else None
    if run is not None and container is not None:
        if (refusal := run.refusal()) is not None:
            raise refusal
        marked = run.marked(entry.name, container.token, container.label)
        spec = msgspec.structs.replace(spec, argv=marked)
        await container.note(run.engine, spec, folder=notes, reaper=reaper)
    try:
        errors = LoggedTail(log, book, works_for) if log is not None else None
        running = await spawn(spec, reaper=reaper, timeout_s=timeout_s, errors=errors)
    except BaseException:
        if container is not None:
            # Nobody waits: its client may only be ending.
            asyncio.ensure_future(container.remove(is_unsure=True))  # noqa: RUF006 - it holds itself
        raise
    if errors is not None:
        errors.started(running.pid)
        running.exited.add_done_callback(lambda exited: errors.ended(exited.result()))
    style: FrameStyle = "content-length" if entry.framing == "content-length" else "newline"
    pipe = StreamPipe(style=style) if wrap is None else _WalledPipe(running, style=style)
    peer = make_peer(pipe)
    pipe.attach(peer)
    loop = asyncio.get_running_loop()
    await loop.connect_write_pipe(pipe.outlet, running.stdin)
    await loop.connect_read_pipe(lambda: pipe, running.stdout)
    declared = {*entry.env, *entry.secret_env}
    hidden = Redaction((env[name] for name in declared), book)
    link = StdioLink(running, pipe, peer, hidden, secrets, entry=entry)
    link.way_out = way_out
    link.container = container
    return link
