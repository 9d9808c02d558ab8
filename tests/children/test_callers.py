"""Whose a line is that a shared server prints."""

import asyncio

from switchboard.children.sharing.callers import Callers


class Use:
    """How a child is used, by hand."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.over = 0.0
        self.callers = Callers(lambda: self.in_flight, lambda: self.over)

    def begin(self, workspace: str) -> None:
        self.callers.come(workspace)
        self.in_flight += 1

    def end(self, *, ago_s: float = 0.0) -> None:
        self.in_flight -= 1
        self.over = asyncio.get_running_loop().time() - ago_s


async def test_everything_is_of_the_only_workspace_that_ever_used_it() -> None:
    use = Use()
    assert use.callers.of_line() == ""
    use.begin("/one")
    assert use.callers.of_line() == "/one"
    use.end()
    assert use.callers.of_line() == "/one"


async def test_of_several_it_is_the_one_whose_requests_alone_are_open() -> None:
    use = Use()
    use.begin("/one")
    use.end(ago_s=60)
    use.begin("/two")
    assert use.callers.of_line() == "/two"
    use.end(ago_s=60)
    # What it says by itself may be about either.
    assert use.callers.of_line() == ""
    use.begin("/one")
    use.begin("/two")
    assert use.callers.of_line() == ""
    use.end()
    assert use.callers.of_line() == ""


async def test_what_comes_late_is_not_taken_for_that_of_the_next() -> None:
    use = Use()
    use.begin("/one")
    use.end()
    use.begin("/two")
    assert use.callers.of_line() == ""
