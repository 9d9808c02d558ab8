"""Questions as people read them."""

from collections.abc import Iterator

from switchboard.cli.style import Style
from switchboard.core.questions import Question


def question_lines(question: Question, style: Style) -> Iterator[str]:
    """A question for people, with what matters most marked."""
    for number, line in enumerate(question.prompt.splitlines()):
        if number == 0:
            yield style.bold(line)
        elif line.startswith(("Risk: HIGH", "Sandbox: NONE", "Leads elsewhere:", "Careful:")):
            yield style.red(line)
        else:
            yield line
