"""JSON Pointer as RFC 6901 has it, and the plain `$.name` form."""

import pytest

from switchboard.results.pointer import NoSuchPlace, read_path, value_at, written

DOCUMENT = {
    "list": ["one", {"deep": True}],
    "": 0,
    "a/b": 1,
    "m~n": 8,
    "~1": 9,
    "c%d": 2,
    " ": 7,
    "0": "a name of digits",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", DOCUMENT),
        ("$", DOCUMENT),
        ("/list", DOCUMENT["list"]),
        ("/list/0", "one"),
        ("/list/1/deep", True),
        ("/", 0),
        ("/a~1b", 1),
        ("/m~0n", 8),
        ("/~01", 9),
        ("/c%d", 2),
        ("/ ", 7),
        ("/0", "a name of digits"),
        ("$.list", DOCUMENT["list"]),
        ("$.list.1.deep", True),
    ],
)
def test_a_path_leads_to_its_value(path: str, value: object) -> None:
    assert value_at(DOCUMENT, read_path(path)) == value


@pytest.mark.parametrize(
    "path",
    [
        *("/nowhere", "/list/2", "/list/-", "/list/01", "/list/-1", "/list/+1", "/list/1e0"),
        *("/list/ 1", "/list/0/more", "/list/²", f"/list/{'9' * 5000}"),
        *("list", "a/b", "/m~n", "/m~2n", "$list", "$..list", "$.list[0]", "$.*", "$.list."),
    ],
)
def test_a_path_that_leads_nowhere_says_so_in_words_of_ours(path: str) -> None:
    with pytest.raises(NoSuchPlace) as caught:
        value_at(DOCUMENT, read_path(path))
    assert "deep" not in str(caught.value)


@pytest.mark.parametrize("steps", [(), ("a/b", "m~n"), ("~1", ""), ("x", "0")])
def test_what_is_written_is_read_as_the_same(steps: tuple[str, ...]) -> None:
    assert read_path(written(steps)) == steps
