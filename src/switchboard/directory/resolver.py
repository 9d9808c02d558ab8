"""Which provider, and which server of it, a client means."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from switchboard.core.calls.contents import ContentRequest
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import ContentProvider
from switchboard.core.sessions import Session
from switchboard.directory.addresses import Sought, prefixed, split


class Resolver:
    """The way from what a client names to the offer that it means."""

    def __init__(
        self,
        providers: Iterable[ContentProvider],
        session: Session,
        # What there is of a kind; who wants a name waits for servers that are late, too.
        merged: Callable[[Kind, str], Awaitable[dict[str, Offer]]],
        # What somebody has without asking any server.
        ours: Callable[[Kind, str], Awaitable[Offer | None]],
    ) -> None:
        self._owners = {owner: each.key for each in providers for owner in each.owners}
        self._providers = tuple(providers)
        self._session = session
        self._merged = merged
        self._ours = ours

    async def find(self, request: ContentRequest) -> Offer:
        """What a request is about. Raises a fault."""
        kind, name = request.sought
        if kind == "prompts":
            return await self._prompt(name)
        return await (self.resource(name) if kind == "resources" else self._template(name))

    async def _prompt(self, name: str) -> Offer:
        if ours := await self._ours("prompts", name):
            return ours
        for wanted in ("", name):
            prompts = await self._merged("prompts", wanted)
            if name in prompts:
                return prompts[name]
            choices = [shown for shown, offer in prompts.items() if offer.own == name]
            if choices:
                raise _ambiguous("prompt", name, choices)
        raise Fault(FaultCode.NOT_FOUND, "unknown-prompt", f"no prompt `{name}`")

    async def _template(self, uri: str) -> Offer:
        """A template by the very text that was listed; a plain URI does too."""
        found = (await self._merged("templates", "")).get(uri)
        return found if found is not None else await self.resource(uri)

    async def resource(self, uri: str) -> Offer:
        """A resource, listed or not. Raises a fault."""
        named = split(uri)
        if named is not None and named[0] in self._owners:
            # It names its server, and reaches that one alone.
            return self._of(named[0], named[1])
        if ours := await self._ours("resources", uri):
            return ours
        owners: set[str] = set()
        for wanted in ("", uri):
            listed = await self._merged("resources", wanted)
            if uri in listed:
                return listed[uri]
            # Those that all list it, each shown under another URI.
            owners = {offer.owner for offer in listed.values() if offer.own == uri}
            if not owners:
                templates = (await self._merged("templates", wanted)).values()
                sought = Sought(uri)
                owners = {offer.owner for offer in templates if sought.fits(offer.own)}
            if owners:
                break
        else:
            # A server may have more than it lists: when there is only one, it is asked.
            able = [name for each in self._providers for name in each.unlisted(self._session)]
            owners = set(able if len(able) == 1 else ())
        if len(owners) == 1:
            return self._of(owners.pop(), uri)
        if owners:
            ordered = [owner for owner in self._owners if owner in owners]
            raise _ambiguous("resource", uri, [prefixed(owner, uri) for owner in ordered])
        raise Fault(
            FaultCode.NOT_FOUND, "unknown-resource", f"no resource `{uri}`", details={"uri": uri}
        )

    def _of(self, owner: str, own: str) -> Offer:
        return Offer(name=own, own=own, owner=owner, provider=self._owners[owner])


def _ambiguous(what: str, name: str, choices: Sequence[str]) -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        f"{what}-ambiguous",
        f"more than one server may have `{name}`",
        hint=f"name the server: {', '.join(choices)}",
    )
