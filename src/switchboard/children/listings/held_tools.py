"""Tools that a server has changed since they were pinned: their words are told to nobody."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from switchboard.children.server_launches import ServerLaunches
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session

# Which of one server's tools are held, by their names.
Held = Callable[[Mapping[str, Launch]], Awaitable[AbstractSet[str]]]
_NONE: AbstractSet[str] = frozenset()


class _Launches(Mapping[str, Launch]):
    """The launches of a server's tools, made when they are looked at: few tools are pinned."""

    def __init__(self, names: Mapping[str, object], launch: Callable[[str], Launch]) -> None:
        self._names = names
        self._launch = launch

    def __getitem__(self, name: str) -> Launch:
        if name not in self._names:
            raise KeyError(name)
        return self._launch(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


async def held_tools(
    held: Held | None,
    launches: ServerLaunches,
    children: ChildSource,
    session: Session,
    *,
    names: Mapping[str, object],
    # A tool of such a name, and its own name.
    tool: Callable[[str], tuple[ToolSpec, str]],
) -> AbstractSet[str]:
    """Those of a server's tools that are held, for this session."""
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
    return await held(_Launches(names, lambda name: launches.named(*tool(name))))
