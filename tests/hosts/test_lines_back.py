"""Servers come back as they were written, comments included, beside what a host wrote since."""

from pathlib import Path

import pytest

from hosts.ground import Ground, named, servers_of
from hosts.real import HOSTS, PATIENCE, said
from switchboard.hosts.edits.edit import Format, read_tree, with_member_of
from switchboard.hosts.edits.merge import merged

CODEX, CURSOR, GEMINI = map(named, ("codex", "cursor", "gemini"))
NOTES = """\
# what I know
[mcp_servers.notes]
command = "false" # inline
args = [
  "one", # first
]

[mcp_servers.notes.env]
LEVEL = "1" # low
"""
SETTINGS = f"""\
# mine
model = "gpt-5.5" # for now

{NOTES}
[mcp_servers.other]
command = "true" # stays

# how it looks
[tui]
theme = "dark"
"""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    (tmp_path / "user").mkdir()
    (tmp_path / "project").mkdir()
    return Ground(tmp_path)


@pytest.mark.timeout(2 * PATIENCE)
def test_codex_sets_a_feature_and_every_comment_comes_back(ground: Ground) -> None:
    path = ground.put(CODEX, SETTINGS.encode())
    ground.enter(CODEX, ("notes",))
    said(ground, HOSTS["codex"], "features", "enable", "shell_snapshot")
    assert "shell_snapshot = true" in path.read_text()
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert path.read_text() == f"{SETTINGS}\n[features]\nshell_snapshot = true\n"


@pytest.mark.timeout(2 * PATIENCE)
def test_codex_writes_its_servers_anew_and_the_one_that_moved_keeps_its_comments(
    ground: Ground,
) -> None:
    path = ground.put(CODEX, SETTINGS.encode())
    ground.enter(CODEX, ("notes",))
    said(ground, HOSTS["codex"], "mcp", "add", "new", "--", "false")
    assert [each.how for each in ground.take_back()] == ["parts"]
    # The comments that were left in the file are gone: Codex drops those of its servers.
    assert NOTES.removeprefix("# what I know\n") in path.read_text()
    assert [*servers_of(path.read_bytes(), ground.file(CODEX))] == ["other", "notes", "new"]


def test_a_server_comes_back_to_its_place_in_json_with_its_comments(ground: Ground) -> None:
    before = (
        b'{\n  // mine\n  "mcpServers": {\n    // what I know\n    "notes": {\n'
        b'      "command": "false", // inline\n    },\n    "other": { "command": "true" },\n'
        b'  },\n  "theme": "dark",\n}\n'
    )
    path = ground.put(CURSOR, before)
    ground.enter(CURSOR, ("notes",))
    path.write_bytes(path.read_bytes().replace(b'"dark"', b'"light"'))
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert path.read_bytes() == before.replace(b'"dark"', b'"light"')


def test_what_was_kept_before_us_alone_still_comes_back(ground: Ground) -> None:
    """A record of an earlier version has no copy of the file as we left it."""
    path = ground.put(CODEX, SETTINGS.encode())
    ground.enter(CODEX, ("notes",))
    with ground.record() as record:
        (ground.root / "home/hosts/originals" / record.written[0].after).unlink()
    with path.open("a") as file:
        file.write("\n[features]\nfast = true\n")
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert [*servers_of(path.read_bytes(), ground.file(CODEX))] == ["other", "notes"]
    assert path.read_text().endswith(NOTES.removeprefix("# what I know\n"))


def test_gemini_writes_its_whole_file_anew_and_the_server_keeps_its_comment(
    ground: Ground,
) -> None:
    before = (
        b'{"ui": {"theme": "Default"},\n "mcpServers": {\n  "notes": {\n   // what I know\n'
        b'   "command": "false"\n  },\n  "other": {"command": "true"}}}\n'
    )
    path = ground.put(GEMINI, before)
    ground.enter(GEMINI, ("notes",))
    said(ground, HOSTS["gemini"], "mcp", "add", "--scope", "user", "new", "false")
    assert b'"new"' in path.read_bytes()
    ground.take_back()
    assert [*servers_of(path.read_bytes(), ground.file(GEMINI))] == ["other", "new", "notes"]
    notes = path.read_text().partition('"notes": {\n')[2]
    assert [line.strip() for line in notes.splitlines()][:2] == [
        "// what I know",
        '"command": "false"',
    ]


@pytest.mark.parametrize(
    ("form", "source"),
    [
        ("toml", "# top\n[s.a] # of a\nx = 1 # one\n[t]\ny = 1\n[s.a.b]\n# inner\nz = 2"),
        ("toml", "s.a.x = 1 # one\ns.a.b.z = 2\n"),
        ("jsonc", '{"s": {"a": {\n  // inner\n  "x": 1, "b": {"z": 2,},\n}}}'),
        ("json", '{"s": {"a": {"x": 1, "b": {"z": 2}}}}'),
        ("yaml", "s:\n  a:\n    x: 1 # one\n    b: {z: 2}\n"),
    ],
)
def test_a_value_is_written_as_it_was_wherever_it_comes(form: Format, source: str) -> None:
    value = {"x": 1, "b": {"z": 2}}
    for text in ("", {"toml": "[u]\nv = 1", "yaml": "u: 1\n"}.get(form, '{"u": 1}')):
        made = with_member_of(text, form, ("s", "a"), value, source)
        assert read_tree(made, form) == {**read_tree(text, form), "s": {"a": value}}
        assert ("inner" in made) == ("inner" in source)


@pytest.mark.parametrize(
    ("wanted", "theirs", "made"),
    [
        ("a\nb\nc\n", "a\nc\nd\n", "a\nb\nc\nd\n"),
        # Where both have changed the same line, theirs stays.
        ("a\nB\n", "a\nC\n", "a\nC\n"),
        ("", "a\nc\n", ""),
        ("a\nc", "x\na\nc\n", "x\na\nc"),
        ("c\n", "a\nb\nc\n", "b\nc\n"),
    ],
)
def test_lines_of_two_texts_are_brought_together(wanted: str, theirs: str, made: str) -> None:
    common = "a\nx\n" if "B" in wanted else "a\nc\n"
    assert merged(common, wanted, theirs) == made


def test_a_text_of_very_many_lines_is_left_to_its_structure() -> None:
    common = "".join(f"{number}\n" for number in range(6_000))
    theirs = "".join(f"{number}.\n" for number in range(6_000))
    assert merged(common, "", theirs) == theirs
