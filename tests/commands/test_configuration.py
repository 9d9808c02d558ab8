"""`[mcp.<tool>]`: what is read, what is left out and why, and whose word counts."""

from typing import Any

import msgspec
import pytest

from cli.commands import switchboard
from commands.bench import Bench
from settings.ground import Ground
from support.requirements import requirement
from support.sources import command_tools
from switchboard.core.origins import Scope
from switchboard.settings.trust import trust


@requirement("S3.01", "S3.72")
def test_every_entry_becomes_a_tool_with_defaults(bench: Bench) -> None:
    bench.write("one", ["true"])
    bench.write("two", ["true"], scope="workspace")
    assert list(bench.specs()) == ["one", "two"]
    entry = command_tools(bench.settings()).usable["one"]
    assert (entry.sandbox_profile, entry.allow_network, entry.requires_approval) == (
        "default",
        False,
        None,
    )
    assert (entry.timeout_ms, entry.streaming) == (120_000, False)


LEFT_OUT: list[tuple[str, dict[str, Any], str]] = [
    ("tool", {"env": {"A": "${NOT_SET_ANYWHERE}"}}, "`NOT_SET_ANYWHERE` is not set"),
    ("tool", {"env": {"A": "${}"}}, "is not a placeholder"),
    ("tool", {"input_schema": {"type": "string"}}, "must be that of an object"),
    ("tool", {"env": {"LD_PRELOAD": "/x.so"}}, "run foreign code"),
    ("tool", {"allow_env_overrides": ["LD_PRELOAD"]}, "run foreign code"),
    ('"a.b"', {}, "clients accept no such name"),
    ("codex", {}, "reserved"),
]


@requirement("S3.86", "S3.103")
@pytest.mark.parametrize(("name", "fields", "why"), LEFT_OUT)
def test_what_cannot_be_used_is_left_out_with_its_reason(
    bench: Bench, name: str, fields: dict[str, Any], why: str
) -> None:
    bench.write("good", ["true"])
    bench.write(name, ["true"], **fields)
    assert list(bench.specs()) == ["good"]
    (omission,) = command_tools(bench.settings()).omitted
    assert why in omission.reason
    assert omission.origin.scope is Scope.HOME
    done = switchboard(bench.place, "doctor")
    assert done.code == 1
    assert why in done.out
    assert "LEFT OUT" in switchboard(bench.place, "list").out


@requirement("S3.38", "S3.103")
def test_what_this_machine_cannot_run_is_left_out(bench: Bench) -> None:
    bench.write("good", ["true"])
    bench.write("mac", ["true"], sandbox_profile="seatbelt")
    bench.write("vague", ["true"], input_schema={"type": "object", "properties": 5})
    bench.write("remote", ["true"], input_schema={"type": "object", "$ref": "https://x.example/"})
    assert list(bench.specs()) == ["good"]
    out = switchboard(bench.place, "doctor").out
    assert "mac: not shown: sandbox unavailable: `seatbelt` is the sandbox of macOS" in out
    assert "vague: not shown: the input schema of `vague` cannot be used" in out
    assert "remote: not shown" in out


@requirement("S3.95")
def test_one_name_in_two_files_is_refused_and_both_are_named(bench: Bench) -> None:
    bench.write("tool", ["true"])
    bench.write("Tool", ["false"], scope="workspace", allow_network=True)
    settings = bench.settings()
    assert [entry.command for entry in command_tools(settings).usable.values()] == ["true"]
    assert not command_tools(settings).usable["tool"].allow_network
    (told,) = [str(each) for each in settings.warnings if "declared twice" in str(each)]
    assert str(bench.place.home / "config.toml") in told
    assert str(bench.place.settings / "config.toml") in told


@requirement("S3.03", "S3.95")
def test_two_names_that_differ_only_in_case_are_both_refused(bench: Bench) -> None:
    bench.write("tool", ["true"])
    bench.write("TOOL", ["false"])
    assert bench.specs() == {}
    first, second = command_tools(bench.settings()).omitted
    assert "`TOOL`" in first.reason
    assert "`tool`" in second.reason
    assert "config.toml" in first.reason


@requirement("S3.27", "S3.79")
@pytest.mark.parametrize("scope", ["home", "workspace"])
def test_it_is_known_who_lifts_an_approval(bench: Bench, scope: str) -> None:
    bench.write("tool", ["true"], scope=scope, requires_approval=False)
    assert command_tools(bench.settings()).usable["tool"].required_by == scope


def test_a_secret_on_a_command_line_is_warned_of(bench: Bench) -> None:
    bench.env["API_TOKEN"] = "x"
    bench.write("tool", ["true", "--token=${API_TOKEN}"])
    told = "\n".join(map(str, bench.settings().warnings))
    assert "everybody on this machine can read `API_TOKEN`" in told


# Trust


def test_a_script_of_the_workspace_is_part_of_what_is_trusted(ground: Ground) -> None:
    tool = '[mcp.tool]\ncommand = "python3"\nargs = ["tools/run.py", "{x}"]\n'
    ground.put(ground.own / "config.toml", tool)
    script = ground.put(ground.workspace / "tools" / "run.py", "print(1)")
    assert list(command_tools(ground.load(trusted=False)).untrusted) == ["tool"]
    trust(ground.load(trusted=False))
    settings = ground.load(trusted=False)
    assert list(command_tools(settings).usable) == ["tool"]
    assert str(script) in settings.watched
    script.write_text("print(2)")
    assert list(command_tools(ground.load(trusted=False)).untrusted) == ["tool"]
    script.write_text("print(1)")
    assert list(command_tools(ground.load(trusted=False)).usable) == ["tool"]


@pytest.mark.parametrize(
    "more",
    ["allow_network = true", "env = { A = '1' }", "timeout_ms = 5", "description = 'Trust me.'"],
)
def test_any_change_of_an_entry_asks_again(ground: Ground, more: str) -> None:
    tool = '[mcp.tool]\ncommand = "true"\n'
    ground.put(ground.own / "config.toml", tool)
    trust(ground.load(trusted=False))
    assert list(command_tools(ground.load(trusted=False)).usable) == ["tool"]
    ground.put(ground.own / "config.toml", tool + more)
    assert list(command_tools(ground.load(trusted=False)).untrusted) == ["tool"]


async def test_a_script_that_changes_just_before_the_start_does_not_run(bench: Bench) -> None:
    del bench.env["SWITCHBOARD_TRUST_WORKSPACE"]
    script = bench.place.write("run.py", "open('one', 'w')")
    bench.write("tool", ["python3", "run.py"], scope="workspace")
    assert bench.specs() == {}
    trust(bench.settings())
    async with bench.road() as (road, _):
        call = bench.a_call("tool")
        script.write_text("open('two', 'w')")
        with pytest.raises(Exception, match="has changed since it was trusted") as caught:
            await road(call)
    assert getattr(caught.value, "reason", "") == "command-changed"
    assert not (bench.root / "two").exists()


def test_whoever_trusts_a_command_sees_what_it_opens(bench: Bench) -> None:
    bench.write("tool", ["curl", "{url}"], scope="workspace", allow_network=True)
    done = switchboard(bench.place, "trust")
    assert "sandbox   default, network" in done.out
    (entry,) = switchboard(bench.place, "trust", "--json").report["entries"]
    assert (entry["runs"], entry["kind"]) == ("curl '{url}'", "command")
    (listed,) = switchboard(bench.place, "list", "--json").report["commands"]
    assert msgspec.json.encode(listed)
    assert listed["sandbox"] == "default, network"


@requirement("S3.106")
def test_a_listing_says_where_the_folder_of_a_tool_is_read_only(bench: Bench) -> None:
    reads = ["filesystem-read"]
    bench.write("reads", ["true"], side_effects=reads)
    bench.write("opened", ["true"], side_effects=reads, writable_roots=["build"])
    bench.write("free", ["true"], side_effects=reads, sandbox_profile="none")
    listed = switchboard(bench.place, "list", "--json").report["commands"]
    assert {each["name"]: each["sandbox"] for each in listed} == {
        "reads": "default, its folder read-only",
        "opened": "default, its folder read-only, writes build",
        "free": "NONE",
    }
