"""Every tool by name. Two tools of one name are refused, and neither is shown."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from switchboard.core.catalog.names import fold
from switchboard.core.catalog.tools import ToolSpec


class Clash(Struct, frozen=True, kw_only=True):
    """Two or more tools that want one name."""

    name: str
    specs: tuple[ToolSpec, ...]

    def __str__(self) -> str:
        sources = " and ".join(f"{spec.name} ({spec.origin})" for spec in self.specs)
        return f"tools share the name `{self.name}`: {sources}"


class Catalog:
    """The tools that clients may see, in the order in which they were configured."""

    __slots__ = ("clashes", "tools")

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        # Names that differ only in case would be told apart by us and mixed up by people.
        groups: dict[str, list[ToolSpec]] = {}
        for spec in specs:
            groups.setdefault(fold(spec.name), []).append(spec)
        self.tools: Mapping[str, ToolSpec] = MappingProxyType(
            {group[0].name: group[0] for group in groups.values() if len(group) == 1}
        )
        self.clashes = tuple(
            Clash(name=group[0].name, specs=tuple(group))
            for group in groups.values()
            if len(group) > 1
        )

    def differs_from(self, other: "Catalog") -> bool:
        """Whether a client that knows the other one should list again."""
        return [_shown(spec) for spec in self.tools.values()] != [
            _shown(spec) for spec in other.tools.values()
        ]


def _shown(spec: ToolSpec) -> tuple[object, ...]:
    return (
        spec.name,
        spec.title,
        spec.description,
        spec.input_schema,
        spec.output_schema,
        spec.most_letters,
        spec.effects,
        spec.particulars,
        spec.is_listed,
    )
