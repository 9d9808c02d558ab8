"""The children of a server with several accounts: one for each, chosen for every request."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from switchboard.children.accounts.choice import AccountChoice
from switchboard.children.child import Child
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session

if TYPE_CHECKING:
    from switchboard.children.sharing.sources import ChildSource


class AccountChildren:
    """A `ChildSource` over the sources of the accounts."""

    __slots__ = ("_sources", "accounts", "cwd", "limits")
    trees = None

    def __init__(self, sources: "Mapping[str, ChildSource]", accounts: AccountChoice) -> None:
        self._sources = sources
        self.accounts = accounts
        first = next(iter(sources.values()))
        self.cwd = first.cwd
        self.limits = first.limits

    def of(self, session: Session) -> Child:
        return self._sources[self.accounts.choose(session).name].of(session)

    def shown_to(self, session: Session) -> Child | None:
        named = session.account
        if named is not None and not self.accounts.has(named.name):
            # It is an account of another server, which the call is for.
            session = replace(session, account=None)
        try:
            return self.of(session)
        except Fault:
            return None

    def children(self) -> Iterable[Child]:
        return chain.from_iterable(each.children() for each in self._sources.values())
