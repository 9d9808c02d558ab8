"""A file of a workspace costs little, whatever is in it: others wait for the same process."""

import json
import os
import threading
import time
from contextlib import suppress

import pytest

from settings.ground import Ground
from settings.slow_files import SLOW
from support.requirements import attack
from switchboard.config.documents import MAX_FOREIGN_BYTES, read_text
from switchboard.config.problems import MOST_PROBLEMS, ConfigInvalid, Problem
from switchboard.config.toml_text import TomlInvalid, read_toml

# Much more than any of them takes, and much less than any of them took.
CPU_S = 6.0
PARSE_S = 0.5


@pytest.mark.parametrize("kind", SLOW)
@attack("B10")
def test_a_slow_file_of_a_clone_is_read_or_refused_at_once(ground: Ground, kind: str) -> None:
    """A window opens a clone whose settings were made to take minutes."""
    ground.put(ground.own / "config.toml", SLOW[kind])
    began = time.process_time()
    told = 0
    try:
        ground.load(trusted=False)
    except ConfigInvalid as refused:
        told = len(refused.problems)
        refused.render()
    assert told <= MOST_PROBLEMS
    assert time.process_time() - began < CPU_S


@pytest.mark.parametrize("kind", SLOW)
def test_no_text_within_the_bounds_takes_its_parser_half_a_second(kind: str) -> None:
    began = time.process_time()
    with suppress(TomlInvalid):
        read_toml(SLOW[kind])
    assert time.process_time() - began < PARSE_S


def test_a_file_with_ever_so_many_faults_is_refused_with_some_of_them(ground: Ground) -> None:
    fields = {"command": "a", **{f"k{number}": 1 for number in range(4000)}}
    ground.put(ground.own / "mcp.json", json.dumps({"mcpServers": {"x": fields}}))
    began = time.process_time()
    assert len(ground.refused()) == MOST_PROBLEMS
    assert time.process_time() - began < CPU_S


def test_warnings_do_not_hide_what_refuses_a_file(ground: Ground) -> None:
    """Hundreds of harmless faults stand before the one that counts."""
    warned = "\n".join(f"[unknown{number}]" for number in range(3 * MOST_PROBLEMS))
    ground.put(ground.own / "config.toml", f"{warned}\n[mcp_servers.x]\ncommand = 1\n")
    assert any(problem.key == "mcp_servers.x.command" for problem in ground.refused())


def test_a_large_file_of_a_workspace_is_refused_and_one_of_the_home_is_not(
    ground: Ground,
) -> None:
    text = "# " + "x" * MAX_FOREIGN_BYTES + "\n"
    ground.put(ground.home / "config.toml", text)
    ground.load()
    ground.put(ground.own / "config.toml", text)
    (problem,) = ground.refused()
    assert "larger than 64 KiB" in problem.message


def test_a_workspace_of_ever_so_many_children_is_not_read_to_its_end(ground: Ground) -> None:
    for number in range(230):
        ground.child(f"c{number:03}")
    settings = ground.load()
    assert len(settings.servers) == 200
    assert any("at most 200 children" in each.message for each in settings.warnings)


def test_a_key_as_long_as_people_write_them_is_read(ground: Ground) -> None:
    words = " ".join(["1.2.3.4"] * 30)
    text = f'[mcp_servers.x]\ncommand = "a"\nargs = ["--hosts={words}=x"]\n'
    ground.put(ground.home / "config.toml", text)
    (entry,) = ground.load().servers
    assert entry.args == (f"--hosts={words}=x",)


@attack("B29")
def test_a_schema_nested_beyond_measure_is_a_problem(ground: Ground) -> None:
    """It once ended the command with an error of its own."""
    deep = ".".join(["a"] * 31)
    nested = "\n".join(f"[mcp.t.input_schema.{deep}]\n{deep} = 1" for _ in range(1))
    ground.put(ground.own / "config.toml", f'[mcp.t]\ncommand = "true"\n{nested}\n')
    problems = ground.refused()
    assert any("deep" in each.message or "parts" in each.message for each in problems)


@attack("B24")
def test_a_folder_that_is_exchanged_for_a_link_is_not_followed(ground: Ground) -> None:
    """Somebody swaps a folder of the workspace and a link to another, as fast as they can."""
    outside = ground.put(ground.user_home / "secret" / "config.toml", "outside").parent
    inside = ground.workspace / "folder"
    ground.put(inside / "config.toml", "inside")
    away = ground.workspace / "away"
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            inside.rename(away)
            inside.symlink_to(outside)
            inside.unlink()
            away.rename(inside)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        read: set[str | None] = set()
        for _ in range(3000):
            problems: list[Problem] = []
            root = os.path.realpath(ground.workspace)
            read.add(read_text(f"{root}/folder/config.toml", problems, within=root))
    finally:
        stop.set()
        thread.join()
    assert read <= {"inside", None}
