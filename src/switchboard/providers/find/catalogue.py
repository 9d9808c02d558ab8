"""Everything that a session may call, as it is found and named."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.core.catalog.addresses import address_of, server_of
from switchboard.core.catalog.offers import Offer
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault, FaultCode
from switchboard.search.finder import Finder, FoundTool
from switchboard.search.signature import written_name
from switchkit.suggest import did_you_mean

_SHOWN = 8
_SEPARATORS = re.compile(r"[\s_./:-]+")
# `v1_1` is not `v11`.
_NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d)_|_(?!\d)")


class KnownTool(Struct, frozen=True, eq=False):
    """One tool that may be called."""

    # `server.tool`, or the name of a tool that is in no suite.
    address: str
    server: str
    spec: ToolSpec
    # The suite that it is called through.
    via: ToolSpec | None = None
    # Nobody is told of it, and its suite says why to who calls it.
    is_withheld: bool = False

    @property
    def name(self) -> str:
        """What its server calls it."""
        return self.spec.name if self.via is not None else self.address


class Catalogue:
    """The tools of one session, in the order in which they are offered."""

    def __init__(self, offers: Iterable[Offer], texts: Mapping[str, str]) -> None:
        """`texts` are what servers say of themselves."""
        offers = tuple(offers)
        self._every = [known for offer in offers if (known := _known(offer)) is not None]
        self._texts = texts
        self.tools = tuple(each for each in self._every if not each.is_withheld)
        self.servers = tuple(dict.fromkeys(each.server for each in self.tools if each.server))
        # How many of each server were changed, and are not told of before somebody has looked.
        self.changed = Counter(
            server_of(each.owner) for each in offers if each.withheld == "changed"
        )

    def finder(self) -> Finder:
        """The search over them. For a thread: of many tools it takes seconds."""
        return Finder([_searched(each) for each in self.tools], self._texts)

    def named(self, name: str) -> KnownTool | None:
        """The tool of a name: `server.tool`, or its own name where no other has it.

        Case and separators make no difference. Whatever else differs is another name, which is
        only suggested: what runs is what was said.
        """
        for found in (
            self._addresses.get(name),
            self._names.get(name),
            self._spelled.get(_spelling(name)),
        ):
            if found is not None and len(found) == 1:
                return found[0]
            if found is not None:
                raise _several(name, found)
        return None

    def near(self, name: str) -> str:
        """The address that was most likely meant by a name that nothing has. For a thread."""
        return did_you_mean(name, (each.address for each in self.tools))

    @cached_property
    def _addresses(self) -> Mapping[str, Sequence[KnownTool]]:
        return _grouped((each.address, each) for each in self._every)

    @cached_property
    def _names(self) -> Mapping[str, Sequence[KnownTool]]:
        return _grouped((each.name, each) for each in self._every)

    @cached_property
    def _spelled(self) -> Mapping[str, Sequence[KnownTool]]:
        return _grouped((said, each) for each in self._every for said in _spellings(each))


def known_at(address: str, offers: Iterable[Offer]) -> KnownTool | None:
    """The tool of a suite with exactly this address."""
    server, _, tool = address.partition(".")
    for offer in offers:
        is_it = offer.name == tool and offer.via is not None and server_of(offer.via.name) == server
        if is_it:
            return _known(offer)
    return None


def unknown_tool(name: str, likely: Sequence[str]) -> Fault:
    """Nothing has this name."""
    hint = f"did you mean {_either(likely)}?" if likely else "find it with `find_tool`"
    return Fault(FaultCode.NOT_FOUND, "unknown-tool", f"no tool `{name}`", hint=hint)


def _known(offer: Offer) -> KnownTool | None:
    if offer.spec is None:
        return None
    via = offer.via
    return KnownTool(
        address=offer.name if via is None else address_of(via.name, offer.name),
        server=offer.owner if via is None else server_of(via.name),
        spec=offer.spec,
        via=via,
        is_withheld=bool(offer.withheld),
    )


def _searched(each: KnownTool) -> FoundTool:
    spec = each.spec
    text = f"{spec.title} {spec.description}" if spec.title else spec.description
    return FoundTool(each.server, each.name, text, _schema(spec))


def _schema(spec: ToolSpec) -> dict[str, Any]:
    try:
        return msgspec.json.decode(spec.input_schema, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return {}


def _spelling(name: str) -> str:
    """A name in any case and with any separators. Letters that look alike are not the same."""
    if not name.isascii():
        return name
    return _NOT_BETWEEN_DIGITS.sub("", _SEPARATORS.sub("_", name)).lower()


def _spellings(each: KnownTool) -> set[str]:
    names = {each.address, each.name}
    if each.via is not None:
        names.add(f"{each.via.name}.{each.name}")
    return {_spelling(name) for name in names}


def _grouped(named: Iterable[tuple[str, KnownTool]]) -> Mapping[str, Sequence[KnownTool]]:
    found: dict[str, list[KnownTool]] = {}
    for name, each in named:
        found.setdefault(name, []).append(each)
    return found


def _several(name: str, found: Sequence[KnownTool]) -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "ambiguous-tool",
        f"several tools are called `{name}`",
        hint=f"call {_either([each.address for each in found if not each.is_withheld])}",
    )


def _either(names: Sequence[str]) -> str:
    shown = [f"`{written_name(name)}`" for name in names[:_SHOWN]]
    return " or ".join(shown) + (" or another" if len(names) > len(shown) else "")
