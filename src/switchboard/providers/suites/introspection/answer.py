"""What `introspect` answers: subtools in as many words as there is room for.

How much is said is decided here; which shape it has is that of whoever writes it.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.providers.suites.introspection.plain_schema import outlined, without_words
from switchboard.results.room import UNBOUNDED, Room, half
from switchboard.search.summaries import summarise

_ASK = '{"action": "introspect", "subtool": "NAME,NAME"}'
_NO_SCHEMAS = (
    f"Schemas are left out: with them this answer is too long. Ask for those that you need: {_ASK};"
    " `*` in a name stands for any characters."
)
_NO_SUMMARIES = _NO_SCHEMAS.replace("Schemas are", "Summaries and schemas are")
_CUT = " … (cut)"
# Summaries grow shorter before they are left out.
_SHORT = 60
_MOST_NAMED = 20


class ShownSubtool(Struct, rename="camel"):
    """One subtool as a model reads it. What is left out, or was never there, is not written."""

    name: str
    summary: str | UnsetType = UNSET
    input_schema: Raw | UnsetType = UNSET
    title: str | UnsetType = UNSET
    annotations: Raw | UnsetType = UNSET
    output_schema: Raw | UnsetType = UNSET


class IntrospectionText(Struct):
    """The whole answer."""

    tools: Sequence[ShownSubtool]
    # What is missing, and how to get it.
    note: str | UnsetType = UNSET
    # What the server says of itself; told once in a session.
    instructions: str | UnsetType = UNSET
    # Tools of it whose schemas hosts would refuse if they were shown them, and why.
    refused: dict[str, str] | UnsetType = UNSET


Writer = Callable[[IntrospectionText], str]


def as_json(answer: IntrospectionText) -> str:
    """The answer as one JSON object."""
    return encode(answer).decode()


def naming_refused(write: Writer, refused: Mapping[str, str]) -> Writer:
    """A writer that names those that hosts would refuse, with the rule that each breaks."""
    if not refused:
        return write

    def written(answer: IntrospectionText) -> str:
        named = {each.name: refused[each.name] for each in answer.tools if each.name in refused}
        return write(replace(answer, refused=named or UNSET))

    return written


def all_tools(
    tools: Sequence[ShownSubtool],
    *,
    most_chars: int,
    with_schemas: Room,
    host: Room,
    instructions: str = "",
    write: Writer = as_json,
) -> str:
    """Every subtool: with schemas if that fits, else names and summaries of all.

    Only where the host would cut even these, names alone, and as many as it would not cut.
    """
    words = _fitted(instructions, host)
    whole = write(IntrospectionText(tools, instructions=words))
    if with_schemas.holds(whole):
        return whole
    for limit in (most_chars, _SHORT):
        brief = [_brief(tool, min(limit, most_chars)) for tool in tools]
        text = write(IntrospectionText(brief, _NO_SCHEMAS, words))
        if host.holds(text):
            return text
    names = [ShownSubtool(tool.name) for tool in tools]

    def named(count: int) -> str:
        return write(IntrospectionText(names[:count], _named_note(names, count), words))

    return named(_most(len(names), named, host))


def chosen_tools(
    tools: Sequence[ShownSubtool],
    *,
    host: Room,
    instructions: str = "",
    write: Writer = as_json,
) -> str:
    """The subtools that were asked for, each in full; those that do not fit are named."""
    words = _fitted(instructions, host)

    def answer(first: ShownSubtool, count: int) -> str:
        note = _left_note([tool.name for tool in tools[count:]])
        if first is not tools[0]:
            note = f"The schema of `{first.name}` is shortened to fit. {note}".strip()
        return write(IntrospectionText([first, *tools[1:count]], note or UNSET, words))

    count = _most(len(tools), lambda n: answer(tools[0], max(1, n)), host)
    if count:
        return answer(tools[0], count)
    for shorter in _shorter(tools[0]):
        text = answer(shorter, 1)
        if host.holds(text):
            return text
    return write(IntrospectionText([ShownSubtool(tools[0].name)], "It is too long to be shown."))


def _most(total: int, make: Callable[[int], str], room: Room) -> int:
    """The largest number up to the total whose answer fits; 0 if none does."""
    low, high = 0, total
    while low < high:
        middle = (low + high + 1) // 2
        if room.holds(make(middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _brief(tool: ShownSubtool, limit: int) -> ShownSubtool:
    return ShownSubtool(tool.name, summarise(tool.summary or "", limit))


def _shorter(tool: ShownSubtool) -> Sequence[ShownSubtool]:
    """One subtool in ever fewer words."""
    bare = ShownSubtool(tool.name, tool.summary, tool.input_schema)
    schema = tool.input_schema or Raw(b"{}")
    plain = replace(bare, summary=summarise(tool.summary or "", 1_000))
    return (
        # Most of what is too long is the schema of what comes back.
        replace(tool, output_schema=UNSET),
        bare,
        plain,
        replace(plain, input_schema=without_words(schema)),
        replace(plain, input_schema=outlined(schema)),
        _brief(tool, 1_000),
    )


def _fitted(instructions: str, host: Room) -> str | UnsetType:
    """Instructions that leave the other half of the room to the tools."""
    if not instructions:
        return UNSET
    text, room = instructions, half(host) if host is not UNBOUNDED else host
    while not room.holds(text):
        text = text.removesuffix(_CUT)
        text = text[: len(text) * 4 // 5] + _CUT
    return text


def _named_note(names: Sequence[ShownSubtool], count: int) -> str:
    left = len(names) - count
    if not left:
        return _NO_SUMMARIES
    return f"{_NO_SUMMARIES} {left} more names are left out: ask for a part of them, as `get_*`."


def _left_note(names: Sequence[str]) -> str:
    if not names:
        return ""
    listed = ",".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"Too long for one answer. Ask for these again: {listed}{more}"
