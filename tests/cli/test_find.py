"""`find`: tools by what they are for, over a board and over a file."""

import json
from pathlib import Path

import pytest

from cli.commands import report_of, switchboard
from support.workspace import Workspace, child_command

CATALOGUE = {
    "tools": [
        {"server": "github", "name": "create_issue", "description": "Open an issue."},
        {
            "server": "files",
            "name": "read_file",
            "description": "Read a file.",
            "inputSchema": {
                "type": "object",
                "properties": {"path": {"type": "string", "description": "which file"}},
                "required": ["path"],
            },
        },
    ]
}


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(CATALOGUE), "utf-8")
    return str(path)


def test_tools_of_servers_are_found_by_what_they_do(either_workspace: Workspace) -> None:
    either_workspace.echo_child()
    either_workspace.child("more", child_command("echo_child", "more"))
    done = switchboard(either_workspace, "find", "say", "a", "text", "again:", "echo", "--json")
    assert done.code == 0
    first = done.report["results"][0]
    assert (first["server"], first["name"]) == ("echo", "echo")
    assert first["signature"].startswith("echo.echo(text: string")


@pytest.mark.parametrize("said", ["more", "More", "more_suite"])
def test_a_server_is_searched_by_the_name_that_its_tools_are_found_with(
    workspace: Workspace, said: str
) -> None:
    workspace.echo_child()
    workspace.child("more", child_command("echo_child", "more"))
    done = switchboard(workspace, "find", "--server", said, "echo", "--json")
    assert {each["server"] for each in done.report["results"]} == {"more"}


def test_what_is_nested_too_deeply_is_no_query_and_no_catalogue(
    workspace: Workspace, catalogue: str, tmp_path: Path
) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text('{"tools": ' + "[" * 100_000, "utf-8")
    done = switchboard(workspace, "find", "--catalogue", str(deep), "issue")
    assert (done.code, "is no catalogue" in done.err) == (2, True)
    asked = '{"query": "a", "k": ' + "[" * 100_000 + "\n"
    done = switchboard(workspace, "find", "--catalogue", catalogue, "--batch", stdin=asked)
    assert (done.code, "line 1 of stdin is no query" in done.err) == (2, True)


def test_a_server_that_cannot_be_asked_hides_no_other(workspace: Workspace) -> None:
    workspace.echo_child()
    workspace.child("broken", ["false"])
    done = switchboard(workspace, "find", "echo", "--json")
    assert done.report["results"][0]["name"] == "echo"
    assert done.report["failed"] == ["broken"]


def test_a_file_of_tools_is_searched_without_a_board(workspace: Workspace, catalogue: str) -> None:
    done = switchboard(workspace, "find", "--catalogue", catalogue, "read the disk file")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:3] == [
        "files.read_file(path: string)",
        "    Read a file.",
        "    path: which file",
    ]


def test_no_match_is_said_with_the_servers_that_there_are(
    workspace: Workspace, catalogue: str
) -> None:
    done = switchboard(workspace, "find", "--catalogue", catalogue, "coffee")
    assert (done.code, done.out) == (1, "")
    assert "no tool matches; servers that were searched: github, files" in done.err


def test_a_batch_answers_line_by_line(workspace: Workspace, catalogue: str) -> None:
    asked = ["issue", "read_file", "天气"]
    lines = "".join(json.dumps({"query": each}) + "\n" for each in asked)
    done = switchboard(
        workspace, "find", "--batch", "--catalogue", catalogue, "--json", stdin=lines + "\n"
    )
    assert done.code == 0
    answers = [report_of(line) for line in done.out.splitlines()]
    assert [each["query"] for each in answers] == asked
    assert [[hit["name"] for hit in each["results"]] for each in answers] == [
        ["create_issue"],
        ["read_file"],
        [],
    ]
    assert all(hit["score"] > 0 for each in answers for hit in each["results"])


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        ((), "", "`find` needs a `QUERY`"),
        (("--limit", "0", "x"), "", "`--limit` must be a whole number from 1 to 100"),
        (("--batch", "x"), "", "`--batch` reads queries from stdin, so none is typed"),
        (("--batch",), '{"no": 1}\n', "line 1 of stdin is no query"),
        (("--catalogue", "/nowhere.json", "x"), "", "`/nowhere.json` cannot be read"),
        (("--catalogue", "BROKEN", "x"), "", "is no catalogue"),
    ],
)
def test_bad_input_is_one_clear_error(
    workspace: Workspace, catalogue: str, words: tuple[str, ...], stdin: str, message: str
) -> None:
    broken = Path(catalogue).with_name("broken.json")
    broken.write_text('{"tools": [{"name": 3}]}', "utf-8")
    given = [str(broken) if each == "BROKEN" else each for each in words]
    if "--batch" in given:
        given += ["--catalogue", catalogue]
    done = switchboard(workspace, "find", *given, stdin=stdin)
    assert done.code == 2
    assert message in done.err
