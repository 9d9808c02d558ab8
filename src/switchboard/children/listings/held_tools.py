"""Tools that a server has changed since they were pinned: their words are told to nobody."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from switchboard.children.server_launches import ServerLaunches
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.faults import Fault
from switchboard.core.launches import Launch
from switchboard.core.sessions import Session
from switchboard.core.tools import ToolSpec

# Which of the launches of one server's tools are held.
Held = Callable[[Sequence[Launch]], Awaitable[AbstractSet[ToolSpec]]]
_NONE: AbstractSet[ToolSpec] = frozenset()


async def held_tools(
    held: Held | None,
    launches: ServerLaunches,
    children: ChildSource,
    session: Session,
    tools: Iterable[tuple[ToolSpec, str]],
) -> AbstractSet[ToolSpec]:
    """Those of a server's tools that are held, for this session. Each comes with its own name."""
    if held is None:
        return _NONE
    if children.accounts is not None:
        try:
            launches = launches.of_account(children.accounts.choose(session))
        except Fault:
            # Without an account nothing can be called either.
            return _NONE
    if children.trees is not None:
        launches = children.trees.launches(session, launches)
    return await held([launches.named(tool, own) for tool, own in tools])
