"""Which tools are listed, so that a listing costs no more than its owner wants."""

from collections.abc import Sequence

from msgspec.structs import replace

from switchboard.core.tokens import estimated_tokens
from switchboard.core.tools import ToolSpec
from switchboard.providers.find.specs import PROVIDER

# What a description may grow to once its server is known; see the words of suites.
_ROOM_TO_GROW = 60


def within(specs: Sequence[ToolSpec], tokens: int) -> list[ToolSpec]:
    """The tools in their order; those for which the tokens do not suffice are not listed.

    From the first to the last, so that a tool more at the end changes nothing before it.
    """
    arranged: list[ToolSpec] = []
    left = tokens
    for spec in specs:
        if spec.provider == PROVIDER:
            arranged.append(spec)
            continue
        cost = _cost(spec)
        is_listed = cost <= left
        # Once something does not fit, what is cheaper does not take its place: one can tell why.
        left = left - cost if is_listed else 0
        arranged.append(spec if is_listed else replace(spec, is_listed=False))
    return arranged


def _cost(spec: ToolSpec) -> int:
    text = f"{spec.name} {spec.title} {spec.description}"
    grown = _ROOM_TO_GROW if spec.wording is not None else 0
    return estimated_tokens(text) + estimated_tokens(bytes(spec.input_schema)) + grown
