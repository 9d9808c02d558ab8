"""Whatever a file looks like, one part of it is changed and everything else stays."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.ground import tree_of
from hosts.texts import SERVERS, VALUES, Written, json_texts, toml_texts, yaml_texts
from switchboard.hosts.edits.edit import (
    Format,
    read_tree,
    with_item,
    with_member,
    without_item,
    without_member,
)
from switchboard.hosts.edits.trees import is_same, value_at, with_value, without_value
from switchboard.hosts.edits.unfit import UnfitFile

ENTRY = {"command": "switchboard", "args": ["mcp"], "env": {"A": 'b"c'}, "timeout": 30, "on": True}
OTHER = {"command": "switchboard", "args": ["mcp", "--home", "h"]}
KEYS = ("mcp", "servers")


def check_put_in(text: str, form: Format, path: Sequence[str], comments: Sequence[str]) -> str:
    """Put our entry in; nothing but it is new, and nothing else is gone."""
    before = read_tree(text, form)
    made = with_member(text, form, path, ENTRY)
    assert is_same(read_tree(made, form), with_value(before, path, ENTRY))
    assert all(comment in made for comment in comments)
    assert with_member(made, form, path, ENTRY) == made
    # Brought up to date it stands where it stood, and so does everything else.
    newer = with_member(made, form, path, OTHER)
    assert is_same(read_tree(newer, form), with_value(before, path, OTHER))
    assert all(comment in newer for comment in comments)
    # Each letter that was there is still there, in its order, but for a word that says "nothing".
    rows = (row for row in text.split("\n") if form != "yaml" or not row.startswith("extensions:"))
    left = iter(made)
    assert all(letter in left for row in rows for letter in row if not letter.isspace())
    return made


@given(json_texts(KEYS, has_comments=True))
@settings(max_examples=120)
def test_our_entry_comes_into_json_with_comments(written: Written) -> None:
    assert is_same(read_tree(written.text, "jsonc"), written.tree)
    made = check_put_in(written.text, "jsonc", (*KEYS, "switchboard"), written.comments)
    back = without_member(made, "jsonc", (*KEYS, "switchboard"))
    assert all(comment in back for comment in written.comments)


@given(json_texts(("mcpServers",), has_comments=False))
@settings(max_examples=80)
def test_our_entry_comes_into_strict_json(written: Written) -> None:
    check_put_in(written.text, "json", ("mcpServers", "switchboard"), ())


@given(json_texts(KEYS, has_comments=True), st.data())
@settings(max_examples=80)
def test_a_server_goes_out_of_json_alone(written: Written, data: st.DataObject) -> None:
    names = [*(value_at(written.tree, KEYS) or {"notes": {}})]
    path = (*KEYS, data.draw(st.sampled_from(names or ["notes"])))
    left = without_member(written.text, "jsonc", path)
    assert is_same(read_tree(left, "jsonc"), without_value(written.tree, path))


@given(json_texts(("allow",), has_comments=True), st.lists(VALUES, max_size=3), VALUES)
@settings(max_examples=80)
def test_an_item_comes_into_a_list_and_goes_again(
    written: Written, items: list[Any], item: Any
) -> None:
    tree = {key: each for key, each in written.tree.items() if key != "allow"}
    text = with_member(
        without_member(written.text, "jsonc", ("allow",)), "jsonc", ("allow",), items
    )
    made = with_item(text, "jsonc", ("allow",), item)
    there = any(is_same(each, item) for each in items)
    assert is_same(read_tree(made, "jsonc"), {**tree, "allow": items if there else [*items, item]})
    back = made if there else without_item(made, "jsonc", ("allow",), item)
    assert is_same(read_tree(back, "jsonc"), {**tree, "allow": items})


@given(toml_texts())
@settings(max_examples=120)
def test_our_entry_comes_into_toml(written: Written) -> None:
    try:
        read_tree(written.text, "toml")
    except UnfitFile:
        # Tables that come twice are not for the grammar to make, but for its reader to refuse.
        return
    path = ("mcp_servers", "switchboard")
    made = check_put_in(written.text, "toml", path, written.comments)
    assert made.startswith(written.text.rstrip("\r\n"))
    back = without_member(made, "toml", path)
    assert back.rstrip("\r\n") == written.text.rstrip("\r\n")


@given(toml_texts(), st.sampled_from(["notes", "git hub", "a.b"]))
@settings(max_examples=120)
def test_a_server_goes_out_of_toml_alone(written: Written, name: str) -> None:
    try:
        before = read_tree(written.text, "toml")
    except UnfitFile:
        return
    left = without_member(written.text, "toml", ("mcp_servers", name))
    assert name not in (value_at(read_tree(left, "toml"), ("mcp_servers",)) or {})
    rest = {key: each for key, each in before.items() if key != "mcp_servers"}
    assert is_same({k: v for k, v in read_tree(left, "toml").items() if k != "mcp_servers"}, rest)


@given(yaml_texts())
@settings(max_examples=120)
def test_our_entry_comes_into_yaml(written: Written) -> None:
    check_put_in(written.text, "yaml", ("extensions", "switchboard"), written.comments)


@given(yaml_texts(), st.sampled_from(["notes", "my-git", "ключ"]))
@settings(max_examples=80)
def test_a_server_goes_out_of_yaml_alone(written: Written, name: str) -> None:
    before = read_tree(written.text, "yaml")
    left = without_member(written.text, "yaml", ("extensions", name))
    after = read_tree(left, "yaml")
    assert name not in (value_at(after, ("extensions",)) or {})
    assert is_same(
        {key: each for key, each in after.items() if key != "extensions"},
        {key: each for key, each in before.items() if key != "extensions"},
    )
    assert all(comment in left for comment in written.comments)


@given(SERVERS)
@settings(max_examples=100)
def test_what_is_written_reads_as_it_was_meant(servers: dict[str, Any]) -> None:
    for form in ("json", "jsonc", "toml", "yaml"):
        text = ""
        for name, each in servers.items():
            text = with_member(text, form, ("servers", name), each)
        assert (tree_of(text.encode(), form).get("servers") or {}) == servers


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ('{"a": 1 // one\n}', '{"a": 1, "s": {"c": 2} // one\n}'),
        ('{\n  "a": 1 /* x\n y */\n}', '{\n  "a": 1,\n  "s": {\n    "c": 2\n  } /* x\n y */\n}'),
        ('{\n  "a": 1\n  ,\n}', '{\n  "a": 1\n  ,\n  "s": {\n    "c": 2\n  },\n}'),
        ('{\r\n\t"a": 1, // x\r\n}', '{\r\n\t"a": 1, // x\r\n\t"s": {\r\n\t\t"c": 2\r\n\t},\r\n}'),
        ("// nothing yet\n", '// nothing yet\n{\n  "s": {\n    "c": 2\n  }\n}\n'),
        ('{"s": null}', '{"s": {\n  "c": 2\n}}'),
        ('{"s": 1, "s": {"c": 1}}', '{"s": 1, "s": {\n  "c": 2\n}}'),
    ],
)
def test_a_member_stands_where_people_would_write_it(text: str, added: str) -> None:
    assert with_member(text, "jsonc", ("s",), {"c": 2}) == added


@pytest.mark.parametrize(
    ("form", "text", "made"),
    [
        (
            "toml",
            "[s.a] # of a\nk = 1\n\n[t]\nx = 1\n\n[s.a.env]\ny = 1\n# of it\n[u]\n",
            '[s.a]\nc = "d"\n\n[t]\nx = 1\n\n# of it\n[u]\n',
        ),
        ("toml", "[s]\na.k = 1\nb.k = 2\n", '[s]\nb.k = 2\n\n[s.a]\nc = "d"\n'),
        (
            "yaml",
            "s:\n  a:\n    k: 1\n  # of b\n  b: 2\n",
            "s:\n  a:\n    c: d\n  # of b\n  b: 2\n",
        ),
        ("jsonc", '{"s": {"a": 1, "b": 2}} // x', '{"s": {"a": {\n  "c": "d"\n}, "b": 2}} // x'),
    ],
)
def test_a_member_that_is_there_is_written_anew_in_its_place(
    form: Format, text: str, made: str
) -> None:
    assert with_member(text, form, ("s", "a"), {"c": "d"}) == made


@pytest.mark.parametrize(
    ("form", "text", "path", "left"),
    [
        ("jsonc", '{ "a": 1, "b": 2 }', ("b",), '{ "a": 1 }'),
        ("jsonc", '{ "a": 1, "b": 2 }', ("a",), '{ "b": 2 }'),
        ("jsonc", '{\n  "a": 1, // of a\n  "b": 2\n}', ("b",), '{\n  "a": 1 // of a\n}'),
        ("jsonc", '{\n  "a": 1, // of a\n  "b": 2\n}', ("a",), '{\n  // of a\n  "b": 2\n}'),
        ("jsonc", '{"a": 1, "a": 2, "b": 3}', ("a",), '{"b": 3}'),
        ("toml", "[s.a]\nk = 1\n\n# of t\n[t]\n", ("s", "a"), "# of t\n[t]\n"),
        ("toml", "s.a.k = 1\nm = 2\n", ("s", "a"), "m = 2\n"),
        ("toml", "[s]\na = { k = 1 }\nb = { k = 2 }\n", ("s", "a"), "[s]\nb = { k = 2 }\n"),
        ("yaml", "s:\n  a:\n    k: 1\n  # of b\n  b: 2\n", ("s", "a"), "s:\n  # of b\n  b: 2\n"),
    ],
)
def test_a_member_goes_with_its_line_and_its_comma(
    form: Format, text: str, path: tuple[str, ...], left: str
) -> None:
    assert without_member(text, form, path) == left


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("json", '{"mcp": {} // why\n}', "JSON has no comments"),
        ("json", '{"mcp": {},}', "expected a key"),
        ("jsonc", '{"mcp": []}', "is not an object"),
        ("jsonc", '{"mcp": "x"}', "is not an object"),
        ("jsonc", "[]", "does not hold an object"),
        ("jsonc", '{"a": NaN}', "not a JSON number"),
        ("jsonc", "{" * 9, "expected a key"),
        ("jsonc", '{"a":' * 100_000, "nested too deep"),
        ("toml", "mcp = { a = 1 }\n", "change it by hand"),
        ("toml", "mcp = 1\n", "is not an object"),
        ("toml", "[[mcp]]\n", "is not an object"),
        ("toml", "mcp = \n", "not valid TOML"),
        ("yaml", "mcp: {a: b}\n", "written in braces"),
        ("yaml", "{a: b}\n", "written in braces"),
        ("yaml", "- a\n", "does not hold a mapping"),
        ("yaml", "a: b: c\n", "mapping values are not allowed"),
        ("yaml", "a: 1\n---\nb: 2\n", "expected a single document"),
        ("yaml", "mcp: [a]\n", "is not an object"),
        ("yaml", "x: &x\n  a: 1\nmcp: *x\n", "change it by hand"),
    ],
)
def test_a_file_that_cannot_be_changed_says_why(form: Format, text: str, message: str) -> None:
    with pytest.raises(UnfitFile, match=message):
        with_member(text, form, ("mcp", "switchboard"), ENTRY)


def test_a_text_that_names_itself_a_thousand_times_is_compared_at_once() -> None:
    rows = ["a0: &a0 [x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    made = with_member("\n".join(rows), "yaml", ("extensions", "switchboard"), ENTRY)
    assert made.startswith("\n".join(rows))
