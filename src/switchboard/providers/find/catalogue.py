"""Everything that a session may call, as it is found and named."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.core.addresses import address_of, server_of
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.offers import Offer
from switchboard.core.tools import ToolSpec
from switchboard.search.finder import Finder, Findings, FoundTool
from switchboard.search.words import squeezed

# A name that differs by no more is a slip of the pen.
_CLOSE = 0.9
_SHOWN = 8


class KnownTool(Struct, frozen=True, eq=False):
    """One tool that may be called."""

    # `server.tool`, or the name of a tool that is in no suite.
    address: str
    server: str
    spec: ToolSpec
    # The suite that it is called through.
    via: ToolSpec | None = None


class Catalogue:
    """The tools of one session, in the order in which they are offered."""

    def __init__(self, offers: Iterable[Offer]) -> None:
        self.tools = tuple(_known(offer, offer.spec) for offer in offers if offer.spec is not None)
        self.servers = tuple(dict.fromkeys(each.server for each in self.tools if each.server))
        self._finder: Finder | None = None
        self._places: dict[str, KnownTool] = {each.address: each for each in self.tools}

    def find(self, query: str, server: str, most: int) -> tuple[Findings, list[KnownTool]]:
        """What fits, as it was found and as it is called."""
        if self._finder is None:
            self._finder = Finder([_searched(each) for each in self.tools])
        findings = self._finder.find(query, server, most)
        return findings, [self._places[each.tool.address] for each in findings.found]

    def named(self, name: str, *, is_reading: bool) -> KnownTool:
        """The tool of a name: `server.tool`, or its own name where no other has it."""
        said = squeezed(name)
        for spelled in (
            [each for each in self.tools if name in (each.address, each.spec.name)],
            [each for each in self.tools if said in _spellings(each)],
        ):
            exact = [each for each in spelled if each.address == name]
            if len(exact or spelled) == 1:
                return (exact or spelled)[0]
            if spelled:
                raise _several(name, spelled)
        near = self._near(name)
        # Whoever means to write says what; to read by a slip of the pen does no harm.
        if is_reading and len(near) == 1 and near[0].spec.effects.only_reads:
            return near[0]
        raise self._unknown(name, near)

    def _near(self, name: str) -> list[KnownTool]:
        said = squeezed(name)
        return [
            each
            for each in self.tools
            if any(SequenceMatcher(None, said, own).ratio() >= _CLOSE for own in _spellings(each))
        ]

    def _unknown(self, name: str, near: Sequence[KnownTool]) -> Fault:
        likely = [each.address for each in near] or [
            found.tool.address for found in self.find(name, "", 3)[0].found
        ]
        hint = f"did you mean {_either(likely)}?" if likely else "find it with `find_tool`"
        return Fault(FaultCode.NOT_FOUND, "unknown-tool", f"no tool `{name}`", hint=hint)


def known_at(address: str, offers: Iterable[Offer]) -> KnownTool | None:
    """The tool of a suite with exactly this address."""
    for offer in offers:
        is_it = offer.via is not None and address_of(offer.via.name, offer.name) == address
        if is_it and offer.spec is not None:
            return _known(offer, offer.spec)
    return None


def _known(offer: Offer, spec: ToolSpec) -> KnownTool:
    if offer.via is None:
        return KnownTool(address=offer.name, server=offer.owner, spec=spec)
    via = offer.via
    return KnownTool(
        address=address_of(via.name, offer.name), server=server_of(via.name), spec=spec, via=via
    )


def _searched(each: KnownTool) -> FoundTool:
    spec = each.spec
    text = f"{spec.title} {spec.description}" if spec.title else spec.description
    return FoundTool(each.server if each.via else "", _name(each), text, _schema(spec))


def _schema(spec: ToolSpec) -> dict[str, Any]:
    try:
        return msgspec.json.decode(spec.input_schema, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _name(each: KnownTool) -> str:
    return each.address.removeprefix(f"{each.server}.") if each.via is not None else each.address


def _spellings(each: KnownTool) -> tuple[str, ...]:
    suite = () if each.via is None else (squeezed(each.via.name + _name(each)),)
    return (squeezed(each.address), squeezed(_name(each)), *suite)


def _several(name: str, found: Sequence[KnownTool]) -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "ambiguous-tool",
        f"several servers have a tool `{name}`",
        hint=f"call {_either([each.address for each in found])}",
    )


def _either(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names[:_SHOWN]]
    return " or ".join(shown) + (" or another" if len(names) > len(shown) else "")
