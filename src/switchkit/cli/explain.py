"""Help, made from the same data that command lines are read by."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from switchkit.cli.usage import VERSION, Option, Program, Usage, Word

_INDENT = "  "
_COLUMNS = 80


def overview(
    program: Program, about: str, groups: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[str]:
    """All verbs, each with its summary, under the name of their group."""
    yield about
    yield ""
    yield f"usage: {program.name} COMMAND [OPTIONS]"
    width = max(len(name) for verbs in groups.values() for name, _ in verbs)
    for group, verbs in groups.items():
        yield ""
        yield f"{group}:"
        for name, summary in verbs:
            yield f"{_INDENT}{name:{width}}  {summary}"
    yield ""
    yield "Options of every command:"
    yield from _options((*program.options, VERSION))
    yield ""
    yield f"Explain one command: {program.name} COMMAND --help"


def explanation(program: Program, usage: Usage) -> Iterator[str]:
    """What one verb does and takes."""
    yield usage.summary
    yield ""
    words = [_placeholder(word) for word in usage.words]
    rest = [f"-- {usage.rest}"] if usage.rest else []
    line = " ".join(["usage:", program.name, usage.verb, *words, "[OPTIONS]", *rest])
    yield from _wrapped(line, " " * len("usage: "))
    if told := [word for word in usage.words if word.about]:
        yield ""
        width = max(len(word.name) for word in told)
        for word in told:
            yield from _described(f"{word.name:{width}}", word.about)
    for paragraph in filter(None, usage.details.split("\n\n")):
        yield ""
        # As it is broken in the source it would leave single words on lines of their own.
        yield from _wrapped(" ".join(paragraph.split()))
    if usage.options:
        yield ""
        yield "Options:"
        yield from _options(usage.options)
    yield ""
    yield "Options of every command:"
    yield from _options(program.options)
    if usage.examples:
        yield ""
        yield "Examples:"
        for example in usage.examples:
            yield _INDENT + example


def _placeholder(word: Word) -> str:
    name = "|".join(word.choices) if word.choices else word.name
    name += "…" if word.many else ""
    return f"[{name}]" if word.optional else name


def _options(options: tuple[Option, ...]) -> Iterator[str]:
    shown = [option for option in options if not option.hidden]
    names = [
        ", ".join(filter(None, (option.short, option.flag)))
        + (f" {option.value}" if option.value else "")
        for option in shown
    ]
    width = max(map(len, names), default=0)
    for name, option in zip(names, shown, strict=True):
        yield from _described(f"{name:{width}}", option.about)


def _described(name: str, about: str) -> Iterator[str]:
    """A name, and what is said of it beside it, in as many lines as it takes."""
    yield from _wrapped(f"{_INDENT}{name}  {about}", " " * (len(_INDENT) + len(name) + 2))


def _wrapped(text: str, hanging: str = "") -> Iterator[str]:
    """The text in lines that fit into any terminal, broken between words."""
    if len(text) <= _COLUMNS:
        yield text
        return
    yield from wrap(
        text,
        _COLUMNS,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
