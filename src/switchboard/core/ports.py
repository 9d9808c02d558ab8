"""The seams between packages. What is needed from above arrives through one of these."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from msgspec import Raw

from switchboard.core.board import Board
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.contents import ContentRequest
from switchboard.core.calls.launches import Launch
from switchboard.core.calls.task import Task
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Policy, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.events import Event
from switchboard.core.sessions import Session

Next = Callable[[Call], Awaitable[Outcome]]


class Provider(Protocol):
    """A source of tools. It returns an outcome or raises a fault; it never answers a client."""

    @property
    def key(self) -> str:
        """The name under which its tools know it."""
        ...

    def specs(self) -> Sequence[ToolSpec]:
        """Every tool it offers. Starts nothing."""
        ...

    async def narrow(self, call: Call) -> Call:
        """Replace a call by the exact one it stands for. Free of effects; most return it as is."""
        ...

    def launch(self, call: Call) -> Launch | Coroutine[Any, Any, Launch | None] | None:
        """What a narrowed call would start or reach as things are now, and where.

        Who has to wait to find out gives a coroutine; to others that would cost every call a frame.
        Nothing when it runs no code but ours. Raises a fault when it may not run there.
        """
        ...

    async def invoke(self, call: Call) -> Outcome:
        """Run the call as its launch says."""
        ...

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        """What it has of a kind for this session. May start what it has to ask.

        With `wanted`, nobody is waited for once something of that name is known; of subtools it
        names the server. As long as nothing changes, it returns the same tuple.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class Gate(Protocol):
    """One step of the road: pass the call on, change it, or raise a fault."""

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        """Decide, then `await proceed(call)` or not.

        A gate that only decides may return the coroutine unawaited.
        """
        ...


@runtime_checkable
class ContentProvider(Protocol):
    """A provider that offers prompts or resources."""

    @property
    def key(self) -> str:
        """The name under which its offers know it."""
        ...

    @property
    def owners(self) -> Collection[str]:
        """The servers whose contents it shows."""
        ...

    @property
    def content_policy(self) -> Policy:
        """How long a request for contents may take."""
        ...

    def unlisted(self, session: Session) -> Sequence[str]:
        """Servers that may have resources which they do not list. Starts nothing."""
        ...

    def awaits(self, kind: Kind) -> bool:
        """Whether a server is still to list this: a listing of now may lack something."""
        ...

    async def fetch(self, call: Call, offer: Offer, request: ContentRequest) -> Outcome:
        """Answer a request for what it offered. The call is the one that passed the gates."""
        ...

    async def follow(
        self, offer: Offer, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        """Tell the provider's own URI of what changes in a resource. What is returned ends it."""
        ...

    def pass_on(self, method: str, session: Session) -> None:
        """Tell those who serve this session what their client said."""
        ...


@runtime_checkable
class TaskProvider(Protocol):
    """A provider whose calls may be answered later. A task is known to who made its call alone."""

    async def task(self, task_id: str, session: Session) -> Task:
        """A task as it is now. Raises a `not_found` fault, also for one of another client."""
        ...

    def task_act(self, method: str) -> ToolSpec:
        """What `tasks/cancel` or `tasks/update` is on the road: an act, as a call is.

        It is given the parameters of the request, and raises the same fault.
        """
        ...

    async def follow_task(
        self, task_id: str, session: Session, tell: Callable[[], None]
    ) -> Callable[[], None]:
        """Tell of each change of a task. What is returned ends it. Raises the same fault."""
        ...


class Directory(Protocol):
    """Everything that a session may use beside the catalog, and the way to who has it."""

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> Sequence[Offer]:
        """Everything of a kind that the session may use, the catalog included.

        Of subtools those of one server, if it is `wanted`; also those that are withheld.
        """
        ...

    async def entries(self, kind: Kind, session: Session, channel: Channel | None) -> Sequence[Raw]:
        """What providers list of a kind beside the catalog. Starts who is not known yet."""
        ...

    def awaits(self, kind: Kind) -> bool:
        """Whether a server is still to list this: a listing of now may lack something."""
        ...

    async def tool(self, name: str, session: Session, channel: Channel | None) -> ToolSpec | None:
        """A tool beside the catalog. Nobody is waited for if it is known already."""
        ...

    def spec(self, method: str) -> ToolSpec | None:
        """What a request of this method is on the road; nothing if it is none of ours."""
        ...

    async def follow(
        self, uri: str, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        """Have the client told when a resource changes, or a part of it, and by which URI.

        What is returned ends it.
        """
        ...

    def pass_on(self, method: str, session: Session) -> None:
        """Tell those who serve this session what their client said."""
        ...


class Events(Protocol):
    """Where observations go."""

    def emit(self, event: Event, /) -> None:
        """Hand the event to every subscriber. Never raises, never waits."""
        ...


class Boards(Protocol):
    """The running configuration, which may be swapped at any time."""

    def lease(self) -> AbstractContextManager[Board, None]:
        """The current board, kept alive until the lease ends."""
        ...
