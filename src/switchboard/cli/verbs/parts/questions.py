"""Questions as people read them."""

from collections.abc import Iterator

from switchboard.core.privacy.cleaning import written_out
from switchboard.core.questions import Question
from switchboard.core.stores import Held
from switchkit.cli.style import Style

# Lines of a question that nobody should miss.
_ALARMS = (
    *("Risk: HIGH", "Sandbox: NONE", "User: ROOT", "Leads elsewhere:", "Careful:"),
    "The server has changed this tool",
)


def question_lines(question: Question, style: Style) -> Iterator[str]:
    """A question for people, with what matters most marked."""
    for number, line in enumerate(question.prompt.splitlines()):
        if number == 0:
            yield style.bold(line)
        elif line.startswith(_ALARMS):
            yield style.red(line)
        else:
            yield line


def change_lines(held: Held, changes: tuple[str, ...], style: Style) -> Iterator[str]:
    """A tool that its server has changed, and what of it."""
    yield f"{written_out(held.server)} has changed its tool {written_out(held.tool)}"
    yield ""
    for line in changes:
        if line.startswith("+"):
            yield style.green(line)
        elif line.startswith("-"):
            yield style.red(line)
        else:
            yield line
