"""What is unusual about a call: all of it in one line, and then what there is to each."""

from collections.abc import Iterator

from switchboard.approvals.risk import ORDERS
from switchboard.approvals.wording.barred import barred, plain
from switchboard.core.questions import Question

_CAREFUL = "Careful: "


def unusual(question: Question) -> Iterator[str]:
    """One line that names everything, in words of ours; then the lines about each."""
    named = list(_named(question))
    if named:
        yield f"{_CAREFUL}{'; '.join(named)}"
    yield from _told(question)


def _named(question: Question) -> Iterator[str]:
    facts = question.facts
    if ORDERS in question.risk.reasons:
        yield "its description gives the model orders"
    if question.changes:
        yield "the server has changed this tool"
    if facts.uid0:
        yield "it runs as ROOT"
    if facts.outside:
        yield "it leaves the workspace"
    if facts.links:
        yield "a path leads elsewhere"
    if question.hidden:
        yield "it hides arguments"
    if facts.tainted_by:
        yield "this session has read what strangers wrote"
    if question.chosen_for:
        yield "a model chose this call"
    if not question.brief_is_whole:
        yield f"{len(question.arguments):,} letters of arguments, whole below"


def _told(question: Question) -> Iterator[str]:
    facts = question.facts
    for path in facts.outside:
        yield f"Outside the workspace: {plain(path)}"
    for link in facts.links:
        yield f"Leads elsewhere: {plain(link)}"
    if question.hidden:
        yield f"Hidden arguments: {', '.join(map(plain, question.hidden))}"
    if facts.tainted_by:
        yield f"Words of strangers: read through {', '.join(map(plain, facts.tainted_by))}"
    if question.chosen_for:
        yield "A model chose this call for the words:"
        yield from barred(question.chosen_for)
