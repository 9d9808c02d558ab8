"""Tokens by which one answer to one question can be given, once, from elsewhere.

A token is worth a no. For a yes it only says which question and which words are meant: whoever
takes a yes also wants to know that a person is there.
"""

import secrets
import time
from typing import Literal

from msgspec import Struct

from switchboard.core.questions import Question
from switchboard.core.single_use import SingleUse

TokenVerdict = Literal["approved", "denied"]

# Longer than any question waits.
_LONGEST_S = 86_400.0
# Two for each question that may wait in all.
_MOST = 4_096
_RANDOM_BYTES = 32


class TokenAnswer(Struct, frozen=True, kw_only=True):
    """The one answer that a token is for."""

    question: str
    digest: str
    verdict: TokenVerdict


class AnswerTokens:
    """The tokens of one daemon. They end with it, and each with its question."""

    def __init__(self) -> None:
        self._tokens: SingleUse[TokenAnswer] = SingleUse(
            lambda: secrets.token_urlsafe(_RANDOM_BYTES), lasts_s=_LONGEST_S, most=_MOST
        )

    def issue(self, question: Question, verdict: TokenVerdict) -> str:
        """A token for one answer, until the question expires."""
        answer = TokenAnswer(question=question.id, digest=question.digest, verdict=verdict)
        return self._tokens.issue(answer, max(0.0, question.expires_at - time.time()))

    def look(self, token: str) -> TokenAnswer | None:
        """What a token is for, without using it up."""
        return self._tokens.look(token)

    def take(self, token: str) -> TokenAnswer | None:
        """The same, and the token is worth nothing any more."""
        return self._tokens.take(token)
