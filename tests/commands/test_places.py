"""Where a tool runs, with which variables, and where its arguments may lead."""

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commands.bench import Bench, json_of, text_of
from support.requirements import requirement
from switchboard.core.faults import FaultCode
from switchboard.core.sessions import Overrides

WHERE = "import json, os; print(json.dumps([os.getcwd(), dict(os.environ)]))"


async def where(bench: Bench, name: str = "where", **more: Any) -> tuple[str, dict[str, str]]:
    cwd, env = json_of(await bench.call(name, **more))
    return cwd, env


@requirement("S3.41", "S3.75", "S3.87", "S3.90")
async def test_it_runs_where_the_session_the_tool_or_the_workspace_says(bench: Bench) -> None:
    for folder in ("own", "theirs"):
        (bench.root / folder).mkdir()
    bench.python("plain", WHERE)
    bench.python("placed", WHERE, cwd="own")
    bench.python("open", WHERE, cwd="own", allow_cwd_override=True)
    wanted = Overrides(cwd="theirs")
    assert (await where(bench, "plain"))[0] == str(bench.root)
    assert (await where(bench, "placed"))[0] == str(bench.root / "own")
    assert (await where(bench, "open"))[0] == str(bench.root / "own")
    assert (await where(bench, "open", overrides=wanted))[0] == str(bench.root / "theirs")
    # Nobody allowed it here.
    assert (await where(bench, "placed", overrides=wanted))[0] == str(bench.root / "own")
    assert (await where(bench, "open"))[0] == str(bench.root / "own")


@requirement("S3.17", "S3.42", "S3.76", "S3.88", "S3.89")
async def test_variables_come_from_the_session_the_tool_and_a_short_base(bench: Bench) -> None:
    bench.env["LEAK"] = "of-the-daemon"
    bench.python("where", WHERE, env={"A": "tool", "B": "tool"}, allow_env_overrides=["B", "C"])
    assert "LEAK" not in (await where(bench))[1]
    wanted = Overrides(env={"A": "session", "B": "session", "C": "session", "D": "session"})
    _, env = await where(bench, overrides=wanted)
    assert {name: env.get(name) for name in "ABCD"} == {
        "A": "tool",
        "B": "session",
        "C": "session",
        "D": None,
    }
    assert env["HOME"] == str(bench.place.user_home)
    # Only for that session.
    assert (await where(bench))[1]["B"] == "tool"


async def test_a_session_that_sets_the_search_path_does_not_choose_the_program(
    bench: Bench,
) -> None:
    mine = bench.root / "bin"
    mine.mkdir()
    (mine / "env").write_text("#!/bin/sh\necho hijacked\n")
    (mine / "env").chmod(0o755)
    bench.write("env", ["env"], allow_env_overrides=["PATH"])
    outcome = await bench.call("env", overrides=Overrides(env={"PATH": str(mine)}))
    assert "hijacked" not in text_of(outcome)
    assert f"PATH={mine}" in text_of(outcome)


@requirement("S3.45", "S3.47", "S3.48", "S3.52", "S3.53")
async def test_a_variable_that_was_changed_counts_from_the_next_call_on(bench: Bench) -> None:
    bench.env["ROTATED"] = "first-value"
    program = "import os; print(len(os.environ['KEY']), os.environ['KEY'] == os.environ['PLAIN'])"
    bench.python("key", program, env={"KEY": "${ROTATED}", "PLAIN": "second-value!"})
    async with bench.road() as (road, _):
        assert text_of(await road(bench.a_call("key"))) == "11 False\n"
        bench.env["ROTATED"] = "second-value!"
        assert text_of(await road(bench.a_call("key"))) == "13 True\n"


@requirement("S3.54", "S3.55")
async def test_a_variable_that_is_gone_is_named_and_nothing_runs(bench: Bench) -> None:
    bench.env["API_TOKEN"] = "a-token-of-mine"
    bench.python("key", "open('ran', 'w')", env={"KEY": "${API_TOKEN}"})
    async with bench.road() as (road, _):
        call = bench.a_call("key")
        del bench.env["API_TOKEN"]
        with pytest.raises(Exception, match="API_TOKEN") as caught:
            await road(call)
    fault: Any = caught.value
    assert (fault.code, fault.reason) == (FaultCode.UNAUTHENTICATED, "secret-missing")
    assert "set `API_TOKEN`" in fault.hint
    assert not (bench.root / "ran").exists()


# Paths

CAT = "import sys; print(open(sys.argv[1]).read())"


@requirement("S3.85", "S3.86")
def test_a_tool_that_would_run_outside_is_not_shown(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (bench.root / "link").symlink_to(elsewhere)
    bench.write("inside", ["true"], cwd=".")
    bench.write("outside", ["true"], cwd=str(elsewhere))
    bench.write("above", ["true"], cwd="..")
    bench.write("through", ["true"], cwd="link")
    assert list(bench.specs()) == ["inside"]
    with (bench.place.home / "config.toml").open("a") as file:
        file.write(f'[tools]\nroots = [".", "{elsewhere}"]\n')
    assert list(bench.specs()) == ["inside", "outside", "through"]


async def test_a_workspace_cannot_widen_where_tools_may_lead(bench: Bench) -> None:
    bench.place.config_toml('[tools]\nroots = ["/"]\n')
    settings = bench.settings()
    assert settings.tools.roots == (str(bench.root),)
    assert "`roots` is ignored in a workspace" in "\n".join(map(str, settings.warnings))


@requirement("S3.85")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../outside.txt",
        "sub/../../outside.txt",
        "file:///etc/passwd",
        "~/.ssh/id",
        "link.txt",
        "folder/outside.txt",
        "--file=/etc/passwd",
        "--file=link.txt",
    ],
)
async def test_an_argument_that_leads_outside_is_refused(
    bench: Bench, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside.txt").write_text("outside")
    (bench.root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (bench.root / "folder").symlink_to(tmp_path)
    bench.python("cat", "open('ran', 'w')", "--", "{path}")
    for arguments in ({"path": path}, {"deep": [{"path": path}]}):
        fault = await bench.refused("cat", arguments)
        assert (fault.code, fault.reason) == (
            FaultCode.PERMISSION_DENIED,
            "path-outside-workspace",
        )
        # What a client reads names no path of the machine.
        assert "/etc" not in fault.message + fault.hint
        assert str(tmp_path) not in fault.message + fault.hint
    assert not (bench.root / "ran").exists()


@pytest.mark.parametrize(
    "text",
    ["inside.txt", "./sub/new.txt", "https://example.org/a", "a/b/c", "words, and more", "x=y"],
)
async def test_what_stays_inside_or_is_no_path_may_pass(bench: Bench, text: str) -> None:
    bench.write("echo", ["echo", "{text}"])
    assert text_of(await bench.call("echo", {"text": text})).strip() == text


async def test_a_schema_says_that_an_argument_is_no_path(bench: Bench) -> None:
    properties = {"pattern": {"type": "string", "x-path": False}, "text": {"type": "string"}}
    schema = {"type": "object", "properties": properties}
    bench.write("echo", ["echo", "{pattern}", "{text}"], input_schema=schema)
    assert text_of(await bench.call("echo", {"pattern": "/usr/.*"})).strip() == "/usr/.*"
    assert (await bench.refused("echo", {"text": "/usr/.*"})).reason == "path-outside-workspace"


@requirement("S3.86")
async def test_an_override_that_leads_outside_is_refused(bench: Bench) -> None:
    bench.python("where", WHERE, allow_cwd_override=True)
    for cwd in ("/", "..", "/etc"):
        fault = await bench.refused("where", overrides=Overrides(cwd=cwd))
        assert fault.reason == "path-outside-workspace"


async def test_a_link_that_is_swapped_after_the_call_was_let_pass_is_seen(
    bench: Bench, tmp_path: Path
) -> None:
    """The gate has looked; an answer of a person may come minutes later."""
    (tmp_path / "outside.txt").write_text("outside")
    path = bench.root / "path.txt"
    path.write_text("inside")
    bench.python("cat", CAT, "{path}")
    async with bench.road() as (_, provider):
        call = bench.a_call("cat", {"path": "path.txt"})
        launch = await provider.launch(call)
        assert launch is not None
        assert launch.cwd == str(bench.root)
        path.unlink()
        path.symlink_to(tmp_path / "outside.txt")
        with pytest.raises(Exception, match="leads out") as caught:
            await provider.invoke(replace(call, launch=launch))
    assert getattr(caught.value, "reason", "") == "path-outside-workspace"


@requirement("S3.17")
async def test_a_tool_runs_in_the_folder_that_was_shown_not_through_the_link(bench: Bench) -> None:
    """The link is swapped after the last look, while the call is written down."""
    for name in ("shown", "other"):
        (bench.root / name).mkdir()
    link = bench.root / "here"
    link.symlink_to("shown")
    bench.python("where", WHERE, cwd="here")
    async with bench.road() as (_, provider):
        call = bench.a_call("where")
        call = replace(call, launch=await provider.launch(call))
        link.unlink()
        link.symlink_to("other")
        assert json_of(await provider.invoke(call))[0] == str(bench.root / "shown")


async def test_a_link_that_a_tool_makes_itself_opens_nothing_for_it(
    bench: Bench, tmp_path: Path
) -> None:
    """Between our look and its own a tool can swap a link: what counts then is the sandbox."""
    (tmp_path / "outside.txt").write_text("outside")
    (bench.root / "path.txt").write_text("inside")
    program = (
        "import os, sys\n"
        "os.unlink(sys.argv[1])\n"
        f"os.symlink({os.fspath(tmp_path / 'outside.txt')!r}, sys.argv[1])\n"
        "open(sys.argv[1], 'w').write('changed')"
    )
    bench.python("swap", program, "{path}")
    # What it writes there is forgotten with its sandbox.
    await bench.call("swap", {"path": "path.txt"})
    assert (tmp_path / "outside.txt").read_text() == "outside"
