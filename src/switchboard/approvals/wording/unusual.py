"""What is unusual about a call: the gravest in one short line, and then what there is to each.

The line is the last that some hosts show, so it also says where all of the question can be read.
"""

from collections.abc import Iterator

from switchboard.approvals.grades import DESTROYS, PUBLISHES, SPENDS
from switchboard.approvals.risk import ORDERS
from switchboard.approvals.wording.barred import barred, plain
from switchboard.approvals.wording.fitting import WIDTH
from switchboard.core.questions import ALL_OF_IT, BETWEEN, Question
from switchkit.cli.columns import columns_of

_CAREFUL = "Careful: "
_BY_NAME = {DESTROYS: "may destroy", SPENDS: "may spend", PUBLISHES: "may publish"}


def unusual(question: Question) -> Iterator[str]:
    """One line that names what is grave, in words of ours; then the lines about each."""
    yield _line(list(_named(question)), question.shown_by)
    yield from _told(question)


def _line(named: list[str], show: str) -> str:
    if not named:
        return f"{ALL_OF_IT}{show}"
    said = named[0]
    for number, each in enumerate(named[1:], start=1):
        left = len(named) - number - 1
        more = f"{said}, {each}"
        if columns_of(_joined(more, left, show)) > WIDTH:
            return _joined(said, left + 1, show)
        said = more
    return _joined(said, 0, show)


def _joined(said: str, left: int, show: str) -> str:
    return f"{_CAREFUL}{said}{f', +{left}' if left else ''}{BETWEEN}{show}"


def _named(question: Question) -> Iterator[str]:
    """The gravest first, each in so few letters that there is room for it and a count of more."""
    facts, reasons = question.facts, question.risk.reasons
    is_said = facts.does.startswith("DESTROYS")
    yield from (
        words
        for applies, words in (
            (ORDERS in reasons, "orders for the model"),
            (question.changes, "tool was changed"),
            (facts.outside, "leaves the workspace"),
            (facts.links, "leads elsewhere"),
            (question.hidden, "hides arguments"),
            (_has_strangers_words(question), "strangers' words"),
            (question.chosen_for, "a model chose it"),
            # The name itself stands in the first line.
            *((reason in reasons and not is_said, words) for reason, words in _BY_NAME.items()),
            (facts.uid0, "runs as ROOT"),
        )
        if applies
    )


def _has_strangers_words(question: Question) -> bool:
    """Whether it changes the decision that the session has read what strangers wrote.

    Nearly every session has. It counts where it ended what a person had agreed to, and where the
    call could carry something away: what strangers wrote may be what made the model do it.
    """
    facts = question.facts
    carries = "NETWORK" in facts.does or PUBLISHES in question.risk.reasons
    return bool(facts.tainted_by) and (facts.has_lapsed or carries)


def _told(question: Question) -> Iterator[str]:
    facts = question.facts
    for path in facts.outside:
        yield f"Outside the workspace: {plain(path)}"
    for link in facts.links:
        yield f"Leads elsewhere: {plain(link)}"
    if question.hidden:
        yield f"Hidden arguments: {', '.join(map(plain, question.hidden))}"
    if _has_strangers_words(question):
        since = "; until then you had trusted it" if facts.has_lapsed else ""
        yield f"Words of strangers: read through {', '.join(map(plain, facts.tainted_by))}{since}"
    if question.chosen_for:
        yield "A model chose this call for the words:"
        yield from barred(question.chosen_for)
