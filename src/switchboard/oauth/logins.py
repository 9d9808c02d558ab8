"""Every login that a process uses, and how new ones come about while it serves."""

from collections.abc import Callable, Iterator, Mapping

from switchboard.children.schema import ServerEntry
from switchboard.core.channels.channel import Channel
from switchboard.core.events import LoginRenewalFailed, LoginRenewed
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import close_all
from switchboard.core.ports import Events
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.held_login import HeldLogin, Note
from switchboard.oauth.login.link import LinkLogin
from switchboard.oauth.login_trail import LoginTrail

# How long an end waits for a renewal whose answer is on its way.
_LAST_ANSWER_S = 5.0


class Logins:
    """Gives children the logins of their servers. One for a process."""

    def __init__(
        self,
        grants: GrantStore,
        events: Events,
        trail: LoginTrail,
        # Where our own description is published now, for servers that know clients by it.
        document_url: Callable[[], str] = lambda: "",
    ) -> None:
        self._grants = grants
        self._events = events
        self._trail = trail
        self._document_url = document_url
        self._held: dict[str, HeldLogin] = {}
        self._links: dict[str, LinkLogin] = {}

    def open(
        self,
        entry: ServerEntry,
        *,
        environ: Mapping[str, str],
        secret: Callable[[str], str | None],
        learn: Note,
        forget: Note,
    ) -> "OpenLogin":
        """See `Authorizations`."""
        held = self._of(entry)
        held.environ, held.secret = environ, secret
        return OpenLogin(held, learn, forget)

    def _of(self, entry: ServerEntry) -> HeldLogin:
        held = HeldLogin(entry, self._grants, self._tell, self._trail)
        found = self._held.setdefault(held.reference, held)
        if found is held:
            self._sweep(held)
        return found

    def _sweep(self, new: HeldLogin) -> None:
        """Let go of what nobody has used for long, as that of a server that is gone."""
        for reference, link in tuple(self._links.items()):
            if link.is_idle:
                del self._links[reference]
        for reference, held in tuple(self._held.items()):
            if held is not new and held.is_idle and reference not in self._links:
                del self._held[reference]

    def _tell(self, server: str, why: str) -> None:
        if why:
            self._events.emit(LoginRenewalFailed(server=server, message=why))
        else:
            self._events.emit(LoginRenewed(server=server))

    async def offer(self, entry: ServerEntry, channel: Channel) -> bool:
        """See `Authorizations`."""
        held = self._of(entry)
        link = self._links.get(held.reference)
        if link is None or link.is_over:
            link = self._links[held.reference] = LinkLogin(
                held, self._grants, self._trail, self._document_url()
            )
        try:
            return await link.offer(channel)
        except Fault:
            # The call is answered with what led here, and with what to type.
            return False

    def __iter__(self) -> Iterator[HeldLogin]:
        return iter(tuple(self._held.values()))

    async def aclose(self) -> None:
        """End what is under way."""
        await close_all(link.aclose() for link in self._links.values())
        await close_all(held.aclose(_LAST_ANSWER_S) for held in self._held.values())


class OpenLogin:
    """The login at one server, for one connection to it. An `Authorization`."""

    def __init__(self, held: HeldLogin, learn: Note, forget: Note) -> None:
        self._held = held
        self._is_open = True
        self._learn = learn
        held.enter(learn, forget)
        self.header = held.header
        self.renewed = held.renewed
        self.fault = held.fault

    def close(self) -> None:
        """See `Authorization`."""
        if self._is_open:
            self._is_open = False
            self._held.leave(self._learn)
