"""The text of a question: what is decided, the arguments, what is unusual, then the rest by weight.

Plain lines, no markup. Every line of ours begins at the margin, and no line of the server can: its
words stand behind a bar, also where a line takes several rows (`barred.rows_of`). So does what an
agent wants to run or change, right below the sentence that says so. Some clients show the first
three lines only, others the last that fit on the screen: the first three decide, and there are no
more lines than are needed.
"""

from collections.abc import Iterator

from switchboard.approvals.wording.barred import MAX_LINE, barred, plain
from switchboard.approvals.wording.heading import (
    ROOM,
    heading,
    is_name_whole,
    is_remote,
    is_wanted_whole,
    name_of,
)
from switchboard.approvals.wording.unusual import unusual
from switchboard.core.privacy.cleaning import cleaned, cleaned_line
from switchboard.core.questions import Facts, Question
from switchkit.cli.columns import columns_of

_MAX_WORDS = 4_000
_DIGEST_CHARS = 12
_NOTHING = "{}"


def prompt_of(question: Question, user_home: str = "") -> str:
    """The whole question. Folders below the user's home are written with `~` in its first line."""
    return "\n".join(_lines(question, user_home))


def _lines(question: Question, user_home: str) -> Iterator[str]:
    yield from heading(question, user_home)
    if not question.wish:
        yield question.brief
    yield from unusual(question)
    yield from _whole(question)
    if question.sources:
        yield "From earlier results:"
        for each in question.sources:
            line, _, changed = each.partition("\n")
            yield f"  {line}"
            yield from barred(changed)
    if question.changes:
        yield "The server has changed this tool since it was last approved:"
        yield from barred("\n".join(question.changes))
    risk = question.risk
    yield f"Risk: {'; '.join((risk.level.upper(), *risk.reasons))}"
    if not is_name_whole(question):
        yield f"Tool: {plain(name_of(question))}"
    yield f"Side effects: {', '.join(map(plain, question.facts.effects))}"
    yield from _surroundings(question)
    client = cleaned_line(question.client, MAX_LINE) or "a client without a name"
    bound = question.digest[:_DIGEST_CHARS]
    # What the client calls itself comes last: nothing of ours stands behind it.
    yield f"Approval: {question.id}, bound to {bound}, asked by {client}"
    if question.title or question.description:
        yield f"{question.speaker}:"
        words = "\n".join(filter(None, (_title(question), question.description)))
        yield from barred(cleaned(words, _MAX_WORDS))


def _title(question: Question) -> str:
    """What it is called beside its name; nothing if that is the name in other letters."""
    told, name = (
        "".join(filter(str.isalnum, text)).lower() for text in (question.title, question.tool)
    )
    return "" if told == name else question.title


def _whole(question: Question) -> Iterator[str]:
    """What the first lines have shortened."""
    if columns_of(plain(question.wish)) > ROOM:
        yield f"Wanted: {plain(question.wish)}"
    if question.wish and not is_wanted_whole(question):
        yield "In full:"
        yield from barred(question.exactly)
    if question.arguments == _NOTHING if question.wish else question.brief_is_whole:
        return
    head = "With" if question.exactly else "Arguments"
    if question.in_line:
        yield f"{head}: {question.in_line}"
        return
    yield f"{head}, {len(question.arguments):,} letters:"
    yield from (f"  {line}" for line in question.arguments.splitlines())


def _surroundings(question: Question) -> Iterator[str]:
    facts = question.facts
    if facts.is_own_folder:
        yield f"Folder: the server's own, {plain(facts.cwd)}"
        yield f"Project: {plain(question.workspace)}"
    else:
        yield f"Folder: {plain(facts.cwd)}"
    if facts.worktree:
        why = f" ({plain(facts.worktree_why)})" if facts.worktree_why else ""
        yield f"Worktree: {plain(facts.worktree)}{why}"
    if question.is_permission:
        # Of what an engine starts, nothing else is known.
        return
    if facts.writable:
        yield f"Can write in: {', '.join(map(plain, facts.writable))}"
    if facts.env or facts.secrets:
        yield f"Variables: {_variables(question)}"
    if not is_remote(facts):
        sandbox = "NONE" if facts.sandbox == "none" else plain(facts.sandbox)
        yield f"Sandbox: {sandbox}, network {_network(facts)}"
    if facts.limits:
        yield f"Limits: {', '.join(map(plain, facts.limits))}"
    if facts.account:
        yield f"Account: {plain(facts.account)} ({plain(facts.account_why)})"
    yield f"Runs: {plain(facts.runs)}"


def _network(facts: Facts) -> str:
    if facts.hosts:
        return f"only {', '.join(map(plain, facts.hosts))}"
    return "on" if facts.network else "off"


def _variables(question: Question) -> str:
    facts = question.facts
    shown = [f"{plain(name)}={plain(value)}" for name, value in facts.env.items()]
    shown += [f"{plain(name)} is set (hidden)" for name in facts.secrets]
    return ", ".join(shown)
