"""How a call ends before its process does: the whole tree goes, with grace, and words are kept."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from commands.bench import Bench, MemoryChannel
from support.processes import mentioning, until_true, wait_until_none_mention
from support.requirements import requirement
from support.sources import commands_provider
from switchboard.core.calls.call import Interrupted
from switchboard.core.events import CallFinished
from switchboard.core.faults import Fault, FaultCode
from switchkit.reaper_client import Reaper

# Says goodbye when it is asked to end, and not before.
POLITE = (
    "import os, signal, sys, time\n"
    "def leave(*_):\n"
    "    os.write(1, b'goodbye\\n'); open('asked', 'w'); sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, leave)\n"
    "print('begun', flush=True)\n"
    "time.sleep(60)\n"
)
# Leaves a daemon in a session of its own that ignores every polite word, and ignores them itself.
STUBBORN = (
    "import os, signal, sys, time\n"
    "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n"
    "    signal.signal(number, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        time.sleep(60)\n"
    "    os._exit(0)\n"
    "print('begun', flush=True)\n"
    "time.sleep(60)\n"
)


async def cancelled(bench: Bench, name: str, channel: MemoryChannel) -> BaseException:
    """Cancel a call once its process has begun; give what the call ended with."""
    async with bench.road() as (road, _):
        task = asyncio.ensure_future(road(bench.a_call(name, channel=channel)))
        await channel.said("begun")
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=30)
        assert done
        try:
            await task
        except asyncio.CancelledError as error:
            return error
        raise AssertionError("it was not cancelled")


@requirement("S3.21", "S3.22", "S3.59", "S3.60", "S3.61", "S3.108", "S3.109")
async def test_a_cancelled_process_is_asked_first_and_its_words_are_passed_on(
    bench: Bench,
) -> None:
    bench.python("polite", POLITE, streaming=True)
    channel = MemoryChannel()
    error = await cancelled(bench, "polite", channel)
    assert channel.text("stdout") == "begun\ngoodbye\n"
    assert (bench.root / "asked").exists()
    assert channel.ends == ["cancelled"]
    assert "call_id" in channel.logs[-1][1]["data"]
    # A call that was cancelled stays one, with what is worth a record.
    assert not isinstance(error, Interrupted) or error.details["bytes_stdout"] == 14
    (finished,) = bench.events.of(CallFinished)
    assert finished.outcome == FaultCode.CANCELLED
    wait_until_none_mention(str(bench.root))


@requirement("S3.59")
@pytest.mark.parametrize("profile", ["default", "none"])
async def test_a_family_that_does_not_listen_is_ended_all_the_same(
    bench: Bench, profile: str
) -> None:
    bench.python("stubborn", STUBBORN, streaming=True, sandbox_profile=profile)
    await cancelled(bench, "stubborn", MemoryChannel())
    wait_until_none_mention(str(bench.root))


async def test_who_is_left_behind_by_a_process_that_ended_is_ended(bench: Bench) -> None:
    program = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint('done')"
    )
    bench.python("leaves", program)
    async with asyncio.timeout(20):
        await bench.call("leaves")
    wait_until_none_mention(str(bench.root))


@requirement("S3.19", "S3.24", "S3.56", "S3.80", "S3.109")
async def test_a_timeout_tells_what_was_said_so_far(bench: Bench) -> None:
    bench.env["API_TOKEN"] = "hunter2-and-more"
    program = (
        "import os, sys, time\n"
        "print('step 1', os.environ['T'], flush=True)\n"
        "print('in', os.getcwd() + '/file.py', file=sys.stderr, flush=True)\n"
        "time.sleep(60)"
    )
    bench.python("slow", program, env={"T": "${API_TOKEN}"}, timeout_ms=1_000)
    fault = await bench.refused("slow")
    assert (fault.code, fault.reason) == (FaultCode.DEADLINE_EXCEEDED, "tool-timeout")
    assert "`timeout_ms`" in fault.hint
    assert fault.details["stdout"] == "step 1 [redacted]"
    assert fault.details["stderr"] == "in file.py"
    assert fault.details["bytes_stdout"] == len("step 1 hunter2-and-more\n")
    wait_until_none_mention(str(bench.root))


@requirement("S3.58")
async def test_the_smaller_limit_of_client_and_tool_applies(bench: Bench) -> None:
    bench.python("slow", "import time; time.sleep(60)", timeout_ms=50_000)
    async with asyncio.timeout(20):
        fault = await bench.refused("slow", client_timeout_s=0.5)
    assert fault.message == "`slow` did not finish within 0.5 s"


@requirement("S3.57")
def test_without_a_word_the_limit_is_two_minutes(bench: Bench) -> None:
    bench.write("tool", ["true"])
    assert bench.specs()["tool"].policy.timeout_s == 120


@requirement("S3.108")
async def test_a_stream_says_that_the_time_was_up(bench: Bench) -> None:
    bench.python("slow", "import time; time.sleep(60)", timeout_ms=500, streaming=True)
    channel = MemoryChannel()
    await bench.refused("slow", channel=channel)
    assert channel.ends == ["timed-out"]


async def test_nothing_survives_a_board_that_is_closed_in_the_middle(bench: Bench) -> None:
    bench.python("stubborn", STUBBORN, streaming=True, sandbox_profile="none")
    reaper = Reaper()
    provider = commands_provider(bench.settings(), bench.env, reaper, bench.events)
    channel = MemoryChannel()
    call = bench.a_call("stubborn", channel=channel)
    call = replace(call, launch=await provider.launch(call))
    task: asyncio.Task[Any] = asyncio.ensure_future(provider.invoke(call))
    await channel.said("begun")
    assert mentioning(str(bench.root))
    # As when the daemon is killed: the reaper notices and ends what it guards.
    await asyncio.to_thread(reaper.close)
    wait_until_none_mention(str(bench.root))
    await until_true(task.done)
    assert isinstance(task.exception(), Fault | None)
