"""Questions as people read them."""

from collections.abc import Iterator

from switchboard.approvals.wording.barred import barred, rows_of
from switchboard.approvals.wording.fitting import WIDTH
from switchboard.approvals.wording.names import named
from switchboard.core.questions import ALL_OF_IT, BETWEEN, Extent, Question, Verdict
from switchboard.core.stores import Held
from switchkit.cli.style import Style

# Lines of a question that nobody should miss.
_ALARMS = (
    *("Risk: HIGH", "Sandbox: NONE", "Careful:", "Leads elsewhere:", "Outside the workspace:"),
    *("Hidden arguments:", "The server has changed this tool"),
)
# The answers about a host, in words.
_MAY: dict[tuple[Verdict, Extent], str] = {
    ("approved", "once"): "may reach {} this time",
    ("approved", "always"): "may now always reach {}",
    ("denied", "once"): "may not reach {}",
    ("denied", "always"): "may never reach {}",
}


def question_lines(question: Question, style: Style) -> Iterator[str]:
    """A question for people in rows that fit, with what matters most marked."""
    for number, line in enumerate(_told(question)):
        for row in _fitting(line, style):
            yield _marked(line, row, style, is_first=number == 0)


def _fitting(line: str, style: Style) -> Iterator[str]:
    # Where what is piped ends up is not known.
    return rows_of(line, style.columns or WIDTH)


def _told(question: Question) -> Iterator[str]:
    """Its lines, without the way to where somebody reads them already."""
    for line in question.prompt.splitlines():
        if line != f"{ALL_OF_IT}{question.shown_by}":
            yield line.removesuffix(f"{BETWEEN}{question.shown_by}")


def _marked(line: str, row: str, style: Style, *, is_first: bool) -> str:
    if is_first:
        return style.bold(row)
    return style.red(row) if line.startswith(_ALARMS) else row


def change_lines(held: Held, changes: tuple[str, ...], style: Style) -> Iterator[str]:
    """A tool that its server has changed, and what of it."""
    yield from _fitting(f"{named(held.server)} has changed its tool {named(held.tool)}", style)
    yield ""
    for change in changes:
        mark = {"+": style.green, "-": style.red}.get(change[:1], str)
        for line in barred(change):
            yield from map(mark, _fitting(line, style))


def in_words(question: Question) -> str:
    """What a question is about, in one line."""
    if question.host:
        return f"{question.host}, which {question.tool} wants to reach"
    if question.wish:
        thing = " ".join(question.exactly.split())
        # Who wants it stands beside it.
        if question.is_permission and thing:
            return thing
        return f"{question.wish}: {thing}" if thing else question.wish
    account = f" as {named(question.facts.account)}" if question.facts.account else ""
    return f"{named(question.tool)} of {named(question.suite or question.facts.server)}{account}"


def about_host(verdict: Verdict, extent: Extent) -> str:
    """What an answer about a host means, with a place for the host."""
    return _MAY[verdict, extent]
