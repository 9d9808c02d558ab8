"""The text of a question: what we know comes first, then the arguments, then the server's words.

Plain lines, no markup. Every line of ours begins at the margin, and no line of the server can: its
words stand behind a bar. So does what an agent wants to run or change, right below the sentence
that says so: some clients show the first lines only.
"""

import json
from collections.abc import Iterator
from typing import Any, cast

from switchboard.core.launches import Launch
from switchboard.core.privacy.cleaning import cleaned, cleaned_line, written_out
from switchboard.core.questions import Facts, Question
from switchboard.core.strict import Number

# What a person can be expected to read.
MAX_ARGUMENTS = 16_000
_MAX_LINE = 2_000
_MAX_WORDS = 4_000
_DIGEST_CHARS = 12
_NOTHING = "{}"
_TAB = 4


def effects_in_words(launch: Launch) -> tuple[str, ...]:
    """What the tool is said to do to the world, and by whom."""
    if launch.wish is not None:
        return (launch.wish.effects,)
    if not launch.is_foreign:
        held = launch.sandbox != "none" and not launch.writable_roots
        if held and launch.side_effects == ("filesystem-read",):
            return (*launch.side_effects, "its sandbox lets it change no file")
        return launch.side_effects or ("none declared",)
    effects = launch.tool.effects
    said: list[str] = []
    if effects.read_only is True:
        said.append("only reads")
    elif effects.read_only is False:
        said.append("changes things")
    if effects.destructive is True:
        said.append("can destroy things")
    if effects.open_world is True:
        said.append("reaches the open world")
    return tuple(f"{each} (the server says)" for each in said) or (
        "unknown (the server is silent)",
    )


def shown_arguments(value: Any) -> str:
    """Arguments as JSON to read, every letter that cannot be seen written as its code."""
    return "\n".join(_pretty(value, ""))


def shown_text(text: str) -> str:
    """A text whole, in its own lines, every letter that cannot be seen written as its code."""
    return "\n".join(written_out(line.expandtabs(_TAB)) for line in text.split("\n"))


def prompt_of(question: Question) -> str:
    """The whole question."""
    return "\n".join(_lines(question))


def _lines(question: Question) -> Iterator[str]:
    facts = question.facts
    yield from _heading(question)
    yield ""
    yield f"Side effects: {', '.join(map(_plain, facts.effects))}"
    level = "HIGH" if question.risk.is_high else "low"
    yield f"Risk: {'; '.join((level, *question.risk.reasons))}"
    yield f"Folder: {_plain(facts.cwd)}"
    yield from _surroundings(question)
    for link in facts.links:
        yield f"Leads elsewhere: {_plain(link)}"
    if facts.tainted_by:
        sources = ", ".join(map(_plain, facts.tainted_by))
        yield f"Careful: this session has read what strangers wrote, through {sources}"
    yield f"Asked by: {cleaned_line(question.client, _MAX_LINE) or 'a client without a name'}"
    yield f"Approval: {question.id}, bound to {question.digest[:_DIGEST_CHARS]}"
    if not (question.wish and question.arguments == _NOTHING):
        yield ""
        yield "With:" if question.exactly else "Arguments:"
        yield from (f"  {line}" for line in question.arguments.splitlines())
    if question.changes:
        yield ""
        yield "The server has changed this tool since it was last approved:"
        yield from (f"  | {line}" for line in question.changes)
    if question.title or question.description:
        yield ""
        yield f"{question.speaker}:"
        words = "\n".join(filter(None, (question.title, question.description)))
        yield from _barred(cleaned(words, _MAX_WORDS))


def _heading(question: Question) -> Iterator[str]:
    if question.wish:
        yield f"{_plain(question.wish)} in {_plain(question.facts.cwd)}"
        yield from _barred(question.exactly)
        return
    name = _plain(question.tool)
    of = f" of {question.suite}" if question.suite else ""
    account = question.facts.account
    yield f"May {name}{of} run{f' as {_plain(account)}' if account else ''}?"
    if question.chosen_for:
        yield "A model chose this call for the words:"
        yield from _barred(question.chosen_for)


def _surroundings(question: Question) -> Iterator[str]:
    facts = question.facts
    root = ("User: ROOT (uid 0)",) if facts.uid0 else ()
    if question.is_permission:
        # Of what an engine starts, nothing else is known.
        yield from root
        return
    if facts.writable:
        yield f"Can write in: {', '.join(map(_plain, facts.writable))}"
    yield f"Variables: {_variables(question)}"
    yield f"Sandbox: {'NONE' if facts.sandbox == 'none' else _plain(facts.sandbox)}"
    if facts.limits:
        yield f"Limits: {', '.join(map(_plain, facts.limits))}"
    yield f"Network: {_network(facts)}"
    yield from root
    if not question.wish:
        yield f"Server: {_plain(facts.server)}"
    if facts.account:
        yield f"Account: {_plain(facts.account)} ({_plain(facts.account_why)})"
    yield f"Runs: {_plain(facts.runs)}"


def _network(facts: Facts) -> str:
    if facts.hosts:
        return f"only {', '.join(map(_plain, facts.hosts))}"
    return "on" if facts.network else "off"


def _barred(text: str) -> Iterator[str]:
    """Words of others, and what they want to do: no line of it can be taken for one of ours."""
    return (f"  | {line}" for line in text.splitlines())


def _variables(question: Question) -> str:
    facts = question.facts
    shown = [f"{_plain(name)}={_plain(value)}" for name, value in facts.env.items()]
    shown += [f"{_plain(name)} is set (hidden)" for name in facts.secrets]
    return ", ".join(shown) or "none"


def _plain(text: str) -> str:
    shown = written_out(text)
    return shown if len(shown) <= _MAX_LINE else shown[:_MAX_LINE] + " … (cut)"


def _pretty(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        members = cast("dict[str, Any]", value)
        yield "{"
        yield from _inside([(f"{_text(key)}: ", each) for key, each in members.items()], indent)
        yield f"{indent}}}"
    elif isinstance(value, list) and value:
        yield "["
        yield from _inside([("", each) for each in cast("list[Any]", value)], indent)
        yield f"{indent}]"
    elif isinstance(value, Number):
        yield str(value)
    elif isinstance(value, str):
        yield _text(value)
    else:
        yield json.dumps(value)


def _inside(parts: list[tuple[str, Any]], indent: str) -> Iterator[str]:
    deeper = f"{indent}  "
    for place, (head, value) in enumerate(parts):
        lines = list(_pretty(value, deeper))
        lines[0] = f"{deeper}{head}{lines[0]}"
        if place < len(parts) - 1:
            lines[-1] += ","
        yield from lines


def _text(text: str) -> str:
    return written_out(json.dumps(text, ensure_ascii=False))
