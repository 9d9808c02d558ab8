"""One call before the approval gate: what it would run, what that risks, what is asked of it."""

from msgspec import Raw, Struct

from switchboard.core.calls import Execution
from switchboard.core.launches import Launch
from switchboard.core.questions import Question, Risk


class Assessment(Struct, frozen=True, kw_only=True, eq=False):
    """What a call would run and whether somebody has to be asked."""

    launch: Launch
    risk: Risk
    asks: bool
    # Whether its result may hold the words of a stranger.
    is_open_world: bool = False
    # Where it runs, and who runs it: a server's tool does not run where its client works.
    place: Execution


class Case(Struct, frozen=True, kw_only=True, eq=False):
    """A call that needs an answer, with everything that the answer is bound to."""

    question: Question
    # The arguments that were hashed. These bytes are sent, and no others.
    arguments: Raw
    # The folder with every link followed.
    cwd: str

    @property
    def digest(self) -> str:
        return self.question.digest
