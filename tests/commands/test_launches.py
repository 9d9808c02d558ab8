"""What approvals are told of a call: everything that decides what it can do, and no secret."""

from typing import Any

import pytest

from commands.bench import Bench
from support.requirements import requirement
from switchboard.approvals.risk import assess
from switchboard.core.calls.launches import Launch
from switchboard.core.sessions import Overrides

SECRET = "hunter2-and-more"


async def launch(bench: Bench, name: str = "tool", arguments: Any = None, **more: Any) -> Launch:
    async with bench.road() as (_, provider):
        found = await provider.launch(bench.a_call(name, arguments, **more))
    assert found is not None
    return found


@requirement("S3.43", "S3.50", "S3.51")
async def test_a_launch_tells_what_would_run_and_hides_secrets(bench: Bench) -> None:
    bench.env["API_TOKEN"] = SECRET
    bench.write(
        "tool",
        ["rg", "--key=${API_TOKEN}", "{pattern}"],
        env={"A": "1", "T": "${API_TOKEN}", "DB_PASSWORD": "plainly-written"},
        side_effects=["filesystem-read"],
    )
    found = await launch(bench, arguments={"pattern": "x"})
    assert found.runs == "rg '--key=${API_TOKEN}' '{pattern}'"
    assert found.cwd == str(bench.root)
    assert found.env == {"A": "1"}
    assert set(found.secrets) == {"T", "DB_PASSWORD"}
    assert (found.sandbox, found.network, found.is_foreign) == ("default", False, False)
    assert found.writable_roots == ()
    assert SECRET not in str(found)
    assert "plainly-written" not in str(found)
    assert assess(found).level == "low"


@pytest.mark.parametrize(
    "change",
    [
        {"allow_network": True},
        {"env": {"A": "2"}},
        {"timeout_ms": 5},
        {"read_roots": ["/usr"]},
    ],
)
async def test_whatever_changes_what_runs_changes_the_launch(
    bench: Bench, change: dict[str, Any]
) -> None:
    bench.write("one", ["true"])
    bench.write("two", ["true"], **change)
    one, two = await launch(bench, "one"), await launch(bench, "two")
    assert one.fingerprint != two.fingerprint


async def test_a_script_of_the_workspace_is_part_of_it(bench: Bench) -> None:
    script = bench.place.write("run.py", "1")
    bench.write("tool", ["python3", "run.py"])
    before = await launch(bench)
    script.write_text("2")
    assert (await launch(bench)).fingerprint != before.fingerprint


async def test_a_rotated_secret_and_an_override_change_the_hash_of_the_variables(
    bench: Bench,
) -> None:
    bench.env["API_TOKEN"] = SECRET
    bench.write("tool", ["true"], env={"T": "${API_TOKEN}"}, allow_env_overrides=["B"])
    hashes = [(await launch(bench)).env_hash]
    hashes.append((await launch(bench, overrides=Overrides(env={"B": "1"}))).env_hash)
    bench.env["API_TOKEN"] = "another-one"
    hashes.append((await launch(bench)).env_hash)
    assert len(set(hashes)) == 3


@requirement("S3.104", "S3.105")
@pytest.mark.parametrize(
    "fields",
    [
        {"allow_network": True},
        {"sandbox_profile": "none"},
        {"side_effects": ["filesystem-write"]},
        {"side_effects": ["network"]},
    ],
)
async def test_high_risk_asks_whatever_the_configuration_says(
    bench: Bench, fields: dict[str, Any]
) -> None:
    bench.write("tool", ["true"], requires_approval=False, **fields)
    assert bench.told("tool")["requires_approval"] is True
    assert assess(await launch(bench)).must_ask


@requirement("S3.104", "S3.105")
@pytest.mark.parametrize(
    "declared", [{"side_effects": ["filesystem-read"]}, {"requires_approval": False}]
)
async def test_a_folder_that_is_opened_to_write_in_is_a_write_that_asks(
    bench: Bench, declared: dict[str, Any]
) -> None:
    (bench.root / "build").mkdir()
    bench.write("tool", ["true"], writable_roots=["build"], **declared)
    found = await launch(bench)
    assert str(bench.root / "build") in found.writable_roots
    assert assess(found).must_ask
    assert bench.told("tool")["requires_approval"]
    assert bench.specs()["tool"].effects.read_only is False


@requirement("S3.06", "S3.26", "S3.27")
def test_discovery_tells_whether_a_call_asks(bench: Bench) -> None:
    bench.write("plain", ["true"])
    bench.write("lifted", ["true"], requires_approval=False)
    bench.write("theirs", ["true"], requires_approval=False, scope="workspace")
    bench.write("reads", ["true"], side_effects=["filesystem-read"])
    told = {name: bench.told(name)["requires_approval"] for name in bench.specs()}
    assert told == {"plain": True, "lifted": False, "theirs": True, "reads": False}
