"""What people are told of a failed turn."""

import pytest

from switchboard.engines.events import TurnFailure
from switchboard.engines.failures import sentence


@pytest.mark.parametrize(
    ("engine", "types"),
    [
        ("codex", "run `codex login`"),
        ("claude", "run `claude` and type `/login`"),
        ("acp:opencode", "run `opencode auth login`"),
        ("acp:other", "log in there again"),
    ],
)
def test_a_refused_login_says_what_to_type(engine: str, types: str) -> None:
    assert types in sentence(TurnFailure(kind="not-logged-in"), engine)
