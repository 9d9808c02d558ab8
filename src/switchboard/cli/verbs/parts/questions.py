"""Questions as people read them."""

from collections.abc import Iterator

from switchboard.core.questions import Question
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
