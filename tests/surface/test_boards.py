"""A board stays as long as a call holds it, and is put away once."""

from fakes.calls import a_tool, answer
from switchboard.core.board import Board
from switchboard.core.catalog.catalog import Catalog
from switchboard.daemon.board.lease import CurrentBoard


def a_board(name: str) -> Board:
    return Board(catalog=Catalog([a_tool(name)]), pipeline=answer)


def test_new_calls_get_the_new_board_and_old_ones_keep_theirs() -> None:
    old, new = a_board("old"), a_board("new")
    rack, retired = CurrentBoard(old), list[str]()
    with rack.lease() as held:
        rack.swap(new, lambda: retired.append("old"))
        with rack.lease() as other:
            assert (held, other) == (old, new)
        assert retired == []
    assert retired == ["old"]
    assert rack.current is new


def test_a_board_that_nobody_holds_is_put_away_at_once() -> None:
    rack, retired = CurrentBoard(a_board("old")), list[str]()
    rack.swap(a_board("new"), lambda: retired.append("old"))
    assert retired == ["old"]


def test_a_board_is_put_away_after_the_last_of_many_leases() -> None:
    rack, retired = CurrentBoard(a_board("old")), list[str]()
    first, second = rack.lease(), rack.lease()
    first.__enter__()
    second.__enter__()
    rack.swap(a_board("new"), lambda: retired.append("old"))
    first.__exit__()
    assert retired == []
    second.__exit__()
    assert retired == ["old"]


def test_a_lease_is_given_back_when_its_call_fails() -> None:
    rack, retired = CurrentBoard(a_board("old")), list[str]()
    try:
        with rack.lease():
            rack.swap(a_board("new"), lambda: retired.append("old"))
            raise ZeroDivisionError
    except ZeroDivisionError:
        assert retired == ["old"]


def test_a_catalog_hides_names_that_people_would_mix_up() -> None:
    catalog = Catalog([a_tool("Docs"), a_tool("docs"), a_tool("other")])
    assert list(catalog.tools) == ["other"]
    [clash] = catalog.clashes
    assert [spec.name for spec in clash.specs] == ["Docs", "docs"]
