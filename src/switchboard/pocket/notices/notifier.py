"""Tells a person of all that waits for them, in the ways that their home names."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from switchboard.control.status import NoticeStatus
from switchboard.core.questions import Question
from switchboard.core.stores import Held
from switchboard.pocket.answer_tokens import AnswerTokens
from switchboard.pocket.notices.courier import Courier
from switchboard.pocket.notices.question_notice import notice_of, notice_of_change
from switchboard.pocket.notices.ways import Way


class Notifier:
    """Couriers for the ways of one home."""

    def __init__(
        self,
        ways: Sequence[Way],
        courier: Callable[[Way], Courier],
        tokens: AnswerTokens,
        # Where a phone reaches us now; empty where it does not.
        url: Callable[[], str],
        *,
        with_detail: bool,
    ) -> None:
        self._couriers = tuple(map(courier, ways))
        self._tokens = tokens
        self._url = url
        self._with_detail = with_detail

    def tell(self, question: Question) -> None:
        """Tell of a question; nobody waits for that."""
        notice = notice_of(question, with_detail=self._with_detail)
        url = self._url()
        for courier in self._couriers:
            # Each way has tokens of its own: what one of them loses is not another's.
            own = notice
            if courier.way.kind == "desktop":
                own = replace(notice, no=self._tokens.issue(question, "denied"))
            elif url:
                yes = self._tokens.issue(question, "approved")
                no = self._tokens.issue(question, "denied")
                only = self._tokens.issue(question, "denied")
                own = replace(
                    notice, answer_url=f"{url}#yes={yes}&no={no}", deny_url=f"{url}#no={only}"
                )
            courier.put(own)

    def tell_change(self, held: Held) -> None:
        """Tell of a tool that its server has changed."""
        notice = notice_of_change(held)
        for courier in self._couriers:
            courier.put(notice)

    def withdraw(self, question: str) -> None:
        """A question was decided."""
        for courier in self._couriers:
            courier.withdraw(question)

    @property
    def statuses(self) -> tuple[NoticeStatus, ...]:
        """How it goes, way by way."""
        return tuple(courier.status for courier in self._couriers)

    async def aclose(self) -> None:
        """Tell nothing more."""
        for courier in self._couriers:
            await courier.aclose()
