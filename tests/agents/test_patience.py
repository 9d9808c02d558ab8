"""How long each client is kept waiting."""

import time

import pytest
from msgspec.structs import replace

from fakes.calls import a_call, a_session
from switchboard.providers.agents.calls.patience import patience_of


def named(client: str, via: str = "stdio") -> float:
    call = a_call(session=replace(a_session(), client=client, via=via))
    return patience_of(call, {"slow-host": 600, "host": 5})


@pytest.mark.parametrize(
    ("client", "seconds"),
    [
        ("codex-mcp-client 0.166.0", 280),
        ("claude-code 2.1.325", 45),
        ("", 45),
        ("my-host 1", 5),
        ("my-slow-host 1", 600),
    ],
)
def test_a_client_waits_as_long_as_its_name_says(client: str, seconds: float) -> None:
    assert named(client) == pytest.approx(seconds, abs=1)


def test_what_the_client_says_itself_counts_first() -> None:
    call = a_call(session=replace(a_session(), client="codex"), client_timeout_s=100.0)
    assert patience_of(call, {}) == pytest.approx(90, abs=1)


def test_what_a_call_has_waited_for_a_person_is_taken_off() -> None:
    call = replace(a_call(), began_at=time.monotonic() - 30)
    assert patience_of(call, {}) == pytest.approx(15, abs=1)
    late = replace(a_call(), began_at=time.monotonic() - 300)
    assert patience_of(late, {}) == pytest.approx(1)


def test_a_person_at_a_terminal_waits_for_the_end() -> None:
    assert named("", via="cli") > 86_400
