"""What of a question is seen on a narrow terminal, and what no name in it can imitate."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.asker_contract import a_question
from approvals.ground import Ground, a_launch, a_tool
from approvals.test_wording import line, question_of
from fakes.calls import a_session
from support.requirements import attack, requirement
from switchboard.approvals.trust import Subject
from switchboard.approvals.wording.arguments import MAX_LINE, brief_arguments
from switchboard.approvals.wording.fitting import WIDTH
from switchboard.approvals.wording.names import named, of_server, placed
from switchboard.approvals.wording.prompt import prompt_of
from switchboard.core.catalog.tools import Effects
from switchboard.core.privacy.cleaning import written_out
from switchboard.core.questions import ASKING, Facts
from switchkit.cli.columns import columns_of

# Narrow terminals


NAMES = st.text(min_size=1, max_size=60)


@requirement("S3.107")
@given(
    tool=NAMES,
    server=NAMES,
    folder=st.text(st.characters(exclude_characters="\0/", codec="utf-8"), max_size=60),
    arguments=st.dictionaries(NAMES, st.text(max_size=90) | st.integers() | st.lists(NAMES)),
    does=st.sampled_from(["WRITES", "DESTROYS, NETWORK", "SAYS IT READS, NETWORK", "MAY WRITE"]),
    sandbox=st.sampled_from(["none", "default"]),
    runs=st.sampled_from(["node notes.js", "https://a-long-name.of-a-host.example.org/mcp"]),
    is_root=st.booleans(),
    wish=st.sampled_from(["", "Agent reviewer wants to change files"]),
)
def test_the_first_three_lines_fit_a_narrow_terminal(
    *,
    tool: str,
    server: str,
    folder: str,
    arguments: dict[str, Any],
    does: str,
    sandbox: str,
    runs: str,
    is_root: bool,
    wish: str,
) -> None:
    brief, is_whole = brief_arguments(arguments)
    question = a_question(
        tool=written_out(tool),
        wish=wish,
        exactly=written_out(tool * 3) if wish else "",
        brief=brief,
        brief_is_whole=is_whole,
        facts=Facts(
            server=server,
            runs=runs,
            cwd=f"/home/me/{folder}",
            does=does,
            sandbox=sandbox,
            uid0=is_root,
            outside=("/etc",),
            links=("a -> b",),
        ),
    )
    lines = f"{ASKING}{prompt_of(question, '/home/me')}".splitlines()[:3]
    assert [each for each in lines if columns_of(each) > WIDTH] == []
    assert question.shown_by in lines[2]
    if not wish and not runs.startswith("https"):
        assert (" · no sandbox" if sandbox == "none" else " · sandbox, ") in lines[0]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (
            {"path": "/srv/projects/acme/src/deep/down/in/it/config.yaml", "content": "x" * 900},
            r'\{"path": "/srv/.*/config\.yaml", "content": "x+…\(\d+\)…x+"\}',
        ),
        ({"body": "y" * 200, "to": "ada@example.org"}, r'\{"to": "ada@example\.org", "body": .*'),
        ({"a": 1, "b": 2, "c": "z" * 90, "command": "rm -r x"}, r'\{"command": "rm -r x", "a".*'),
    ],
    ids=["path", "recipient", "command"],
)
def test_what_says_most_comes_first_and_both_ends_of_it_are_seen(
    arguments: dict[str, Any], shown: str
) -> None:
    brief, is_whole = brief_arguments(arguments)
    assert not is_whole
    assert re.fullmatch(shown, brief)


async def test_arguments_of_a_few_rows_stand_whole_in_one_line_below(ground: Ground) -> None:
    arguments = {"entities": [{"name": "Ada", "kind": "person", "notes": ["wrote the first one"]}]}
    question = await question_of(ground, arguments)
    assert not question.brief_is_whole
    assert json.loads(line(question.prompt, "Arguments")) == arguments
    long = await question_of(ground, {"text": "x" * MAX_LINE})
    assert long.in_line == ""


# Names of others


@attack("T12")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("read_file", "read_file"),
        ("ns/read.file-2", "ns/read.file-2"),
        ("\u8aad\u3080", "\u8aad\u3080"),
        (
            "look \u00b7 files.read \u00b7 no sandbox",
            '"look \\u00b7 files.read \\u00b7 no sandbox"',
        ),
        ("a \u318d b", '"a \\u318d b"'),
        ("a, sandbox", '"a, sandbox"'),
        ('a" b', '"a\\" b"'),
        ("a\u2026b", '"a\\u2026b"'),
        ("", '""'),
    ],
)
def test_a_name_that_is_no_plain_one_is_quoted(name: str, shown: str) -> None:
    assert named(name) == shown


@attack("T12")
@given(st.text(), st.integers(8, 60))
def test_no_name_holds_what_sets_our_parts_apart(name: str, columns: int) -> None:
    for shown in (named(name), named(name, columns), placed(name, columns)):
        assert "\u00b7" not in shown
        assert " " not in shown or shown.startswith('"')
    assert columns_of(named(name, columns)) <= columns
    assert columns_of(placed(name, columns)) <= columns


@attack("T12")
def test_a_server_cannot_be_named_as_one_and_its_tool() -> None:
    assert of_server("files", "read") == "files.read"
    assert of_server("files.read", "wipe") == '"files.read".wipe'
    assert of_server("lint", "lint") == "lint"
    assert of_server("notes", "wipe", "work") == "notes.wipe as work"
    short = of_server("a" * 40, "delete_everything", columns=30)
    assert len(short) <= 30
    assert short.endswith(".delete_everything")


@pytest.mark.parametrize(
    ("folder", "columns", "shown"),
    [
        ("~/app", 10, "~/app"),
        ("~/work/clients/acme/proj", 18, "~/\u2026/acme/proj"),
        ("~/work/clients/acme/proj", 9, "~/\u2026/proj"),
        ("/srv/work/clients/acme/proj", 8, "/\u2026/proj"),
        ("/srv/work/clients/acme/proj", 6, "\u2026/proj"),
        ("~/My Work/app", 0, '"~/My Work/app"'),
        ("~/a \u00b7 no sandbox", 0, '"~/a \\u00b7 no sandbox"'),
    ],
)
def test_a_folder_is_shortened_in_its_middle(folder: str, columns: int, shown: str) -> None:
    assert placed(folder, columns) == shown


# Words of strangers


@pytest.mark.parametrize(
    ("effects", "name", "is_told"),
    [
        (Effects(read_only=False), "wipe", False),
        (Effects(read_only=False, open_world=True), "wipe", True),
        (Effects(read_only=False), "send_mail", True),
    ],
    ids=["stays here", "reaches out", "publishes"],
)
async def test_words_of_strangers_are_told_where_they_change_the_decision(
    home: Path, effects: Effects, name: str, is_told: bool
) -> None:
    ground = Ground(home, a_launch(a_tool(name, effects=effects), cwd=str(home)))
    ground.trust.taint(a_session(), Subject("web", "fetch"))
    question = await question_of(ground, session=a_session())
    assert question.facts.tainted_by == ("web/fetch",)
    assert ("strangers' words" in question.prompt.splitlines()[2]) == is_told
    assert ("Words of strangers: read through web/fetch" in question.prompt) == is_told
