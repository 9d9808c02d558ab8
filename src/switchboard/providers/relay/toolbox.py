"""The tools of children that show them one by one."""

from collections.abc import Callable, Sequence
from typing import cast

from msgspec import Raw, Struct

from switchboard.children.listings.listing import ToolEntry, ToolListing
from switchboard.core.names import fold, is_reserved, tool_name
from switchboard.core.ports import ShownTool
from switchboard.core.tools import Effects, Policy, ToolSpec
from switchboard.core.visibility import Visibility
from switchboard.providers.relay.offering import Offering
from switchboard.providers.relay.shelf import Found, Place, renamed

PROVIDER = "relay"


class Toolbox(Struct, frozen=True, eq=False):
    """Every tool that can be told apart, and the names that could not be given."""

    tools: dict[str, ShownTool]
    places: dict[ToolSpec, Place]
    clashes: tuple[str, ...]


def fill(found: Sequence[Found], visibility: Visibility, taken: Callable[[str], bool]) -> Toolbox:
    """One tool for each name. Two of one name are refused, and neither is shown."""
    groups: dict[str, list[tuple[str, Offering, ToolEntry, Raw]]] = {}
    for offering, listing in found:
        tools = cast("ToolListing", listing).tools
        for name, entry in tools.items():
            if not offering.subtools.shows(name):
                continue
            shown = tool_name(offering.prefix + name)
            if visibility.shows(shown):
                group = groups.setdefault(fold(shown), [])
                group.append((shown, offering, entry, listing.entries[name]))
    shown_tools: dict[str, ShownTool] = {}
    places: dict[ToolSpec, Place] = {}
    clashes: list[str] = []
    for folded, group in groups.items():
        shown, offering, entry, raw = group[0]
        if len(group) > 1 or taken(folded) or is_reserved(shown):
            sources = " and ".join(
                f"`{entry.name}` of `{offering.name}` ({offering.origin})"
                for _, offering, entry, _ in group
            )
            clashes.append(f"the tool name `{shown}` is taken more than once: {sources}")
            continue
        spec = _spec(shown, offering, entry)
        places[spec] = Place(offering, entry.name)
        listed = raw if shown == entry.name else renamed(raw, "name", shown)
        shown_tools[shown] = ShownTool(spec, listed)
    return Toolbox(shown_tools, places, tuple(clashes))


def unchecked(raw: Raw) -> None:
    """Nothing: the child checks the arguments of its own tools."""
    del raw


def _spec(shown: str, offering: Offering, entry: ToolEntry) -> ToolSpec:
    limits = offering.children.limits
    return ToolSpec(
        name=shown,
        provider=PROVIDER,
        title=entry.title or "",
        description=entry.description or "",
        input_schema=entry.input_schema,
        output_schema=entry.output_schema or None,
        effects=entry.annotations.effects if entry.annotations is not None else Effects(),
        policy=Policy(timeout_s=limits.rpc_s, longest_s=limits.longest_s),
        origin=offering.origin,
        check=unchecked,
    )
