"""The second look at tests that failed."""

from collections.abc import Sequence

import pytest

from support import whole_run


@pytest.mark.parametrize(
    ("failed", "codes", "verdict"),
    [
        pytest.param([], [0], 0, id="all passed"),
        pytest.param(["a"], [1, 0], 0, id="passed alone"),
        pytest.param(["a", "b"], [1, 1], 1, id="failed alone too"),
        pytest.param(["a"] * (whole_run.MOST_AGAIN + 1), [1], 1, id="too many for an accident"),
        pytest.param(["a"], [2], 2, id="interrupted"),
        pytest.param([], [1], 1, id="no test failed, and yet the run did"),
    ],
)
def test_what_failed_beside_others_is_run_alone_once(
    monkeypatch: pytest.MonkeyPatch, failed: list[str], codes: Sequence[int], verdict: int
) -> None:
    runs: list[tuple[str, ...]] = []

    def run(*words: str) -> int:
        runs.append(words)
        return codes[len(runs) - 1]

    monkeypatch.setattr(whole_run, "run_tests", run)
    monkeypatch.setattr(whole_run, "failed_tests", lambda: failed)
    monkeypatch.setattr(whole_run, "relay_page_is_behind", lambda: False)
    monkeypatch.setattr("sys.argv", ["whole_run", "-n", "3"])
    assert whole_run.main() == verdict
    assert runs == [("--cache-clear", "-n", "3"), ("-n", "0", *failed)][: len(codes)]
