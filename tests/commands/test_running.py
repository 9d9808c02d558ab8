"""One process for each call: what comes back, what its sandbox denies, what cannot start."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from commands.bench import Bench, text_of
from support.requirements import requirement
from switchboard.core.calls.call import Figures
from switchboard.core.faults import FaultCode
from switchboard.providers.commands import listing as assembling
from switchboard.sandbox.probe import Probe
from switchboard.sandbox.sandbox import Sandbox


@requirement("S3.63")
async def test_a_result_is_stdout_then_stderr_and_both_are_counted(bench: Bench) -> None:
    bench.python("both", "import sys; print('out'); print('err!', file=sys.stderr)")
    outcome = await bench.call("both")
    assert not outcome.is_error
    assert [block.text for block in outcome.blocks] == ["out\n", "stderr:\nerr!\n"]  # type: ignore[union-attr]
    assert outcome.figures == Figures(exit_status=0, bytes_stdout=4, bytes_stderr=5, redactions=0)


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("import sys; print('partly'); sys.exit(3)", "ended with status 3"),
        ("import os; print('partly', flush=True); os.kill(os.getpid(), 11)", "ended by SIGSEGV"),
    ],
)
async def test_a_status_other_than_0_is_an_error_of_the_tool(
    bench: Bench, program: str, how: str
) -> None:
    bench.python("fails", program)
    outcome = await bench.call("fails")
    assert outcome.is_error
    assert how in text_of(outcome)
    assert "partly" in text_of(outcome)


async def test_a_tool_that_prints_nothing_says_so(bench: Bench) -> None:
    bench.write("true", ["true"])
    assert text_of(await bench.call("true")) == "`true` ended and printed nothing"


async def test_each_call_has_a_process_of_its_own(bench: Bench) -> None:
    program = "import os; print(os.stat('/proc/self').st_ino, os.path.exists('/tmp/mark'));"
    bench.python("once", program + "open('/tmp/mark', 'w')")
    assert [text_of(await bench.call("once")).split()[1] for _ in range(2)] == ["False", "False"]


# The sandbox


@requirement("S3.18", "S3.39", "S3.44", "S3.77", "S3.78", "S3.96", "S3.97")
async def test_it_sees_neither_the_home_nor_the_network(bench: Bench) -> None:
    secret = bench.place.user_home / ".ssh" / "key"
    secret.parent.mkdir()
    secret.write_text("the-secret-of-the-home")
    program = (
        "import os, socket, sys\n"
        f"print(os.path.exists({str(secret)!r}))\n"
        "try: print(socket.socket())\n"
        "except OSError: print('no network')\n"
        "open('written', 'w').write('here')\n"
        f"open({str(secret)!r} + '2', 'w') if os.path.exists({str(secret.parent)!r}) else None\n"
    )
    bench.python("look", program)
    bench.python("free", program, sandbox_profile="none")
    assert text_of(await bench.call("look")) == "False\nno network\n"
    assert (bench.root / "written").read_text() == "here"
    assert not secret.with_name("key2").exists()
    # It is the sandbox that does it.
    assert text_of(await bench.call("free")).startswith("True\n<socket")


@requirement("S3.97")
async def test_the_network_is_there_once_it_is_allowed(bench: Bench) -> None:
    bench.python("dial", "import socket; socket.socket(); print('ok')", allow_network=True)
    assert text_of(await bench.call("dial")) == "ok\n"


@requirement("S3.23", "S3.99", "S3.101")
async def test_a_denial_names_the_key_that_would_open_it(bench: Bench) -> None:
    bench.python("dial", "import socket; socket.socket()")
    bench.python("write", "open('/usr/no-such-file', 'w')")
    fault = await bench.refused("dial")
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "sandbox-network")
    assert "allow_network" in fault.hint
    assert fault.details["exit_status"] == 1
    fault = await bench.refused("write")
    assert fault.code is FaultCode.PERMISSION_DENIED
    assert fault.reason == "sandbox-write"
    told = json.dumps([fault.message, fault.hint, fault.details])
    assert "/usr" not in told
    assert "<path>" in told


async def test_a_tool_in_a_part_of_the_workspace_reads_the_rest_and_writes_its_own(
    bench: Bench,
) -> None:
    (bench.root / "part").mkdir()
    (bench.root / "rest.txt").write_text("rest")
    program = (
        "open('mine', 'w'); print(open('../rest.txt').read())\n"
        "try: open('../rest.txt', 'w')\n"
        "except OSError as error: print(error.strerror)"
    )
    bench.python("part", program, cwd="part")
    assert text_of(await bench.call("part")) == "rest\nRead-only file system\n"
    assert (bench.root / "rest.txt").read_text() == "rest"
    assert (bench.root / "part" / "mine").exists()


@requirement("S3.18", "S3.103")
async def test_without_a_sandbox_nothing_runs_and_nothing_is_shown(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench.python("tool", "open('ran', 'w')")
    bench.python("free", "print('ran')", sandbox_profile="none")
    call = bench.a_call("tool")
    async with bench.road() as (_, provider):
        call = replace(call, launch=await provider.launch(call))
    nothing = Sandbox(Probe(folders=(str(tmp_path),)))
    monkeypatch.setattr(assembling, "platform_sandbox", lambda: nothing)
    assert list(bench.specs()) == ["free"]
    async with bench.road() as (_, provider):
        with pytest.raises(KeyError):
            await provider.invoke(call)
    assert not (bench.root / "ran").exists()


async def test_a_sandbox_that_went_away_since_refuses_the_call(
    bench: Bench, tmp_path: Path
) -> None:
    bench.python("tool", "open('ran', 'w')")
    async with bench.road(Sandbox(Probe(folders=(str(tmp_path),)))) as (road, _):
        with pytest.raises(Exception, match="sandbox unavailable") as caught:
            await road(bench.a_call("tool"))
    assert getattr(caught.value, "code", "") is FaultCode.PERMISSION_DENIED
    assert getattr(caught.value, "reason", "") == "sandbox-unavailable"
    assert not (bench.root / "ran").exists()


# What cannot start


@requirement("S3.25", "S3.99", "S3.100")
async def test_a_command_that_is_not_there_is_an_internal_fault_without_paths(
    bench: Bench,
) -> None:
    bench.write("lost", [str(bench.root / "no-such-program")])
    bench.write("nowhere", ["no-such-program"])
    for name in ("lost", "nowhere"):
        fault = await bench.refused(name)
        assert (fault.code, fault.reason) == (FaultCode.INTERNAL, "spawn-failed")
        assert "`no-such-program` was not found" in fault.message
        assert os.sep not in fault.message
        assert "Traceback" not in fault.message + str(fault.details)


@requirement("S3.25")
async def test_what_went_wrong_is_told_without_secrets_and_paths(bench: Bench) -> None:
    bench.env["API_TOKEN"] = "hunter2-and-more"
    # The sandbox refuses to be built: a folder that is to be opened is not there.
    bench.python("broken", "", env={"T": "${API_TOKEN}"}, read_roots=["/no/such/folder"])
    fault = await bench.refused("broken")
    assert fault.code is FaultCode.FAILED_PRECONDITION
    assert "/no/such" not in fault.message + fault.hint + str(fault.details)


@requirement("S3.98", "S3.40")
async def test_a_program_in_the_working_directory_is_not_found_by_its_bare_name(
    bench: Bench,
) -> None:
    fake = bench.root / "python3"
    fake.write_text("#!/bin/sh\necho hijacked\n")
    fake.chmod(0o755)
    bench.env["PATH"] = f".:{bench.env['PATH']}"
    bench.write("python", ["python3", "-c", "print('real')"])
    assert text_of(await bench.call("python")) == "real\n"


async def test_a_tool_of_the_home_finds_no_program_in_a_folder_that_nobody_trusts(
    bench: Bench,
) -> None:
    """Attempted: by an absolute entry of the search path, and by a relative command."""
    fake = bench.root / "bin" / "python3"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho hijacked\n")
    fake.chmod(0o755)
    bench.env["PATH"] = f"{fake.parent}:{bench.env['PATH']}"
    del bench.env["SWITCHBOARD_TRUST_WORKSPACE"]
    bench.write("python", ["python3", "-c", "import os; print(os.environ['PATH'])"])
    bench.write("relative", ["bin/python3"])
    told = text_of(await bench.call("python"))
    assert "hijacked" not in told
    assert str(fake.parent) not in told
    with pytest.raises(KeyError):
        await bench.call("relative")
