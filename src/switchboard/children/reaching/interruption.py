"""A way to a child that failed and may be there again in a moment."""

from switchboard.core.faults import Fault, FaultCode


class Interruption(Fault):
    """No answer came. What is certain is whether the other side can have taken the request."""

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        may_have_run: bool,
        # How long the other side asks to be left alone.
        wait_s: float = 0.0,
        hint: str = "",
        private: str = "",
    ) -> None:
        super().__init__(FaultCode.UNAVAILABLE, reason, message, hint=hint, private=private)
        self.may_have_run = may_have_run
        self.wait_s = wait_s

    def given_up(self) -> Fault:
        """The same for somebody who waits no longer."""
        return Fault(self.code, self.reason, self.message, hint=self.hint, private=self.private)

    def in_flight(self, tool: str) -> Fault:
        """What a call ends with that must not be repeated: nobody knows whether it ran."""
        return Fault(
            self.code,
            "call-interrupted",
            f"{self.message} while `{tool}` was under way: it may or may not have run,"
            " and was not repeated",
            hint="see whether it took effect before you call it again",
            details={"may_have_run": True},
            private=self.private,
        )
