"""Keys are found where they stand, whatever strings, comments and arrays look like."""

import tomllib

from switchkit.toml.positions import Values, by_place, nearest, statements

TEXT = '''\
# a = 1
top = "[not.a.header]"
  "quoted key" = [
  "one]", # two]
  ["]"],
]
[table] # note
a.'b c' = { x = 1 }
text = """
key = "none"
[neither]
"""
[[items]]
name = 'first'
[items.part]
deep = 1
[[items]]
name = 'second'
[items.part]
deep = 2
'''


def test_each_statement_has_its_lines_its_column_and_its_place() -> None:
    tomllib.loads(TEXT)
    found = {one.place: (one.first, one.last, one.column) for one in statements(TEXT)}
    assert found == {
        ("top",): (2, 2, 1),
        ("quoted key",): (3, 6, 3),
        ("table",): (7, 7, 1),
        ("table", "a", "b c"): (8, 8, 1),
        ("table", "text"): (9, 9, 1),
        ("items", 0): (13, 13, 1),
        ("items", 0, "name"): (14, 14, 1),
        ("items", 0, "part"): (15, 15, 1),
        ("items", 0, "part", "deep"): (16, 16, 1),
        ("items", 1): (17, 17, 1),
        ("items", 1, "name"): (18, 18, 1),
        ("items", 1, "part"): (19, 19, 1),
        ("items", 1, "part", "deep"): (20, 20, 1),
    }


def test_what_does_not_stand_in_the_text_is_near_what_holds_it() -> None:
    found = by_place(statements(TEXT))

    def line(*path: str | int) -> int:
        near = nearest(found, path)
        return 0 if near is None else near.first

    assert line("items", 1, "part", "deep") == 20
    assert line("items", "part", "deep") == 16
    assert line("table", "a", "b c", "x") == 8
    assert line("table", "none") == 7
    assert line("none") == 0


def test_what_lies_in_a_value_has_a_place_of_its_own() -> None:
    text = 'a = [ "x=,]", { b.c = [1, 2], "d, e" = { f = "}" } }, # [3]\n  3,\n]\n'
    tomllib.loads(text)
    (statement,) = statements(text)

    def place(*path: str | int) -> tuple[int, int] | None:
        return Values(text).find(statement, path)

    assert place(0) == (1, 7)
    assert place(1, "b") == place(1, "b", "c") == (1, 17)
    assert place(1, "b", "c", 1) == (1, 27)
    assert place(1, "d, e", "f") == (1, text.index("f = ") + 1)
    assert place(2) == (2, 3)
    for nowhere in ((3,), ("b",), (0, "x"), (1, "none"), (1, "b", "c", 2), (2, 0)):
        assert place(*nowhere) is None
