"""Files that cannot be used: each gives one clear problem, and never a traceback."""

import os
from pathlib import Path
from typing import Any

import pytest

from settings.ground import Ground
from support.requirements import requirement
from switchboard.config.problems import ConfigInvalid

GOLDEN = Path(__file__).parent / "golden"
JSON_FILES = ["mcp.json", "switchboard.config.json"]


def _path(ground: Ground, name: str) -> Path:
    return ground.home / name


@pytest.mark.parametrize("name", [*JSON_FILES, "config.toml"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe{}", "not UTF-8: byte 0xFF"),
        (b"{}\n  \xe9", "not UTF-8: byte 0xE9"),
        ("\ufeff{}", "byte order mark"),
        (b" " * ((1 << 20) + 1), "larger than 1024 KiB"),
    ],
)
def test_a_file_that_is_no_text_is_refused(
    ground: Ground, name: str, content: str | bytes, words: str
) -> None:
    path = ground.put(_path(ground, name), content)
    (problem,) = ground.refused()
    assert words in problem.message
    assert problem.path == str(path)


@pytest.mark.parametrize("name", JSON_FILES)
@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{'a': 1}", '{"a": NaN}', '{"a": 1} {}', "[" * 100_000, "// hi\n{}"],
)
def test_a_file_that_is_no_json_object_is_refused(ground: Ground, name: str, content: str) -> None:
    ground.put(_path(ground, name), content)
    (problem,) = ground.refused()
    assert problem.line == 1


@pytest.mark.parametrize(
    "content", ["a = ", "[a", "a = 1\na = 2", "x = [" + "[" * 5000, "a = 'x\n'", "= 1", "\x00"]
)
def test_a_file_that_is_no_toml_is_refused(ground: Ground, content: str) -> None:
    ground.put(_path(ground, "config.toml"), content)
    (problem,) = ground.refused()
    assert problem.line >= 1


@pytest.mark.parametrize("name", [*JSON_FILES, "config.toml"])
def test_a_directory_in_the_place_of_a_file_is_refused(ground: Ground, name: str) -> None:
    _path(ground, name).mkdir(parents=True)
    (problem,) = ground.refused()
    assert "a directory" in problem.message


def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(ground: Ground) -> None:
    ground.home.mkdir()
    os.mkfifo(ground.home / "mcp.json")
    (problem,) = ground.refused()
    assert "not a regular file" in problem.message


def test_a_circle_of_links_is_refused(ground: Ground) -> None:
    ground.home.mkdir()
    (ground.home / "mcp.json").symlink_to("mcp.json")
    (problem,) = ground.refused()
    assert "cannot be read" in problem.message


def test_a_file_that_may_not_be_read_is_refused(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ground.put(ground.home / "mcp.json", "{}")
    real_open = os.open

    def refusing(name: str, *rest: Any, dir_fd: int | None = None) -> int:
        around = "" if dir_fd is None else Path(f"/proc/self/fd/{dir_fd}").readlink()
        if Path(around, name) == path:
            raise PermissionError(13, "Permission denied")
        return real_open(name, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    (problem,) = ground.refused()
    assert problem.message == "the file cannot be read: permission denied"


@requirement("S4.19")
def test_a_key_written_twice_is_refused_at_every_level(ground: Ground) -> None:
    ground.put(
        ground.home / "mcp.json",
        '{"mcpServers": {"a": {"command": "x", "command": "y"}, "a": {}}, "mcpServers": {}}',
    )
    assert ground.refused_keys() == ["mcpServers.a.command", "mcpServers.a", "mcpServers"]


def test_problems_of_every_file_are_told_at_once(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", "[server]\nport = 'x'\n")
    ground.put(ground.home / "mcp.json", "{")
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"comand": "a"}}})
    ground.put(ground.workspace / "switchboard.config.json", {"suits": {}})
    ground.child("bad", "{")
    problems = ground.refused(PORT="x")
    assert [(Path(problem.path).name, problem.key) for problem in problems] == [
        ("config.toml", "server.port"),
        ("mcp.json", ""),
        ("mcp.json", "mcpServers.x.comand"),
        ("switchboard.config.json", "suits"),
        ("environment", "PORT"),
    ]


def test_a_child_file_in_another_place_is_told_where_it_belongs(ground: Ground) -> None:
    mcps = ground.own / "mcps"
    child = {"name": "x", "command": {"cmd": "x"}}
    misplaced = {
        "one.json": "one/.mcp.json",
        "two.mcp.json": "two/.mcp.json",
        ".mcp.json": "NAME/.mcp.json",
        "three/mcp.json": "three/.mcp.json",
        "four/deep/.mcp.json": "deep/.mcp.json",
    }
    for place in misplaced:
        ground.put(mcps / place, child)
    # What may lie beside a child file that is one.
    ground.child("fine")
    for place in ("fine/original/.mcp.json", "fine/mcp.json", "fine/package.json", "five/x.json"):
        ground.put(mcps / place, child)
    settings = ground.load()
    assert [entry.name for entry in settings.servers] == ["fine"]
    told = {str(Path(each.path).relative_to(mcps)): each for each in settings.warnings}
    assert set(told) == set(misplaced)
    for place, wanted in misplaced.items():
        assert f"only `.switchboard/mcps/{wanted}`" in told[place].message
        assert f"move .switchboard/mcps/{place} to .switchboard/mcps/{wanted}" in told[place].hint
    # Whoever names the places means no others.
    ground.put(
        ground.workspace / "switchboard.config.json",
        {"discoverGlobs": [".switchboard/mcps/*.json"]},
    )
    assert not [each for each in ground.load().warnings if "no child file" in each.message]


def test_many_servers_load_quickly_enough_to_wait_for(ground: Ground) -> None:
    many = {f"s{number}": {"command": "x", "args": ["a"]} for number in range(8_000)}
    ground.put(ground.home / "mcp.json", {"mcpServers": many})
    some = {f"s{number}": {"command": "x", "args": ["a"]} for number in range(500)}
    ground.put(ground.own / "mcp.json", {"mcpServers": some})
    assert len(ground.load().servers) == 8_000


@pytest.mark.parametrize("case", sorted(path.stem for path in GOLDEN.glob("*.txt")))
def test_problems_are_rendered_as_the_golden_files_say(ground: Ground, case: str) -> None:
    told, expected = (GOLDEN / f"{case}.txt").read_text("utf-8").split("\n=====\n")
    for part in told.split("----- ")[1:]:
        name, _, content = part.partition("\n")
        root = ground.user_home if name.startswith("~/") else ground.workspace
        ground.put(root / name.removeprefix("~/"), content)
    with pytest.raises(ConfigInvalid) as caught:
        ground.load(settled=True)
    rendered = caught.value.render()
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / f"{case}.txt").write_text(f"{told}\n=====\n{rendered}", "utf-8")
        return
    assert rendered == expected


def test_the_same_problems_as_objects(ground: Ground) -> None:
    path = ground.put(ground.home / "mcp.json", '{\n  "mcpServer": {}\n}')
    with pytest.raises(ConfigInvalid) as caught:
        ground.load()
    assert caught.value.to_dict() == {
        "problems": [
            {
                "path": str(path),
                "line": 2,
                "column": 3,
                "key": "mcpServer",
                "message": "unknown field `mcpServer`",
                "hint": "did you mean `mcpServers`? `mcp.json` takes: mcpServers, mcp_servers",
                "severity": "error",
                "near": False,
                "kind": "content",
            }
        ]
    }


@pytest.mark.parametrize(
    "name", [".switchboard/mcp.json", ".switchboard/config.toml", "switchboard.config.json"]
)
def test_a_file_of_a_workspace_is_not_read_through_a_link_that_leads_out(
    ground: Ground, name: str
) -> None:
    secret = ground.put(ground.user_home / "shadow", "root:hunter2\n")
    link = ground.workspace / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(secret)
    (problem,) = ground.refused()
    assert (problem.path, problem.line) == (str(link), 0)
    assert "symbolic link" in problem.message
    assert "hunter2" not in str(problem)


def test_a_file_of_a_workspace_may_be_a_link_inside_it(ground: Ground) -> None:
    real = ground.put(ground.workspace / "shared.json", {"mcpServers": {"x": {"command": "true"}}})
    ground.own.mkdir()
    (ground.own / "mcp.json").symlink_to(real)
    assert [entry.name for entry in ground.load().servers] == ["x"]
