"""What a process prints: in order, bounded, without secrets, and no faster than it is read."""

import asyncio
import base64
import json
import os

import pytest

from commands.bench import Bench, MemoryChannel, text_of
from support.requirements import requirement
from switchboard.procs.output import KEPT_BYTES
from switchkit.platform.facts import resident_bytes

SECRET = "hunter2-and-a-bit-more"
MIB = 1 << 20


@requirement("S3.20", "S3.64", "S3.81", "S3.108", "S3.62")
async def test_output_comes_while_it_is_printed_and_the_end_is_marked(bench: Bench) -> None:
    program = (
        "import sys, time, os\n"
        "for n in range(3):\n"
        "    print(n, flush=True)\n"
        "    while not os.path.exists(f'go{{n}}'): time.sleep(0.01)\n"
        "print('bad', file=sys.stderr)"
    )
    bench.python("counts", program, streaming=True)
    channel = MemoryChannel()
    async with bench.road() as (road, _):
        task = asyncio.ensure_future(road(bench.a_call("counts", channel=channel)))
        for n in range(3):
            await channel.said(f"{n}\n")
            assert not task.done()
            (bench.root / f"go{n}").touch()
        outcome = await task
    assert channel.text("stdout") == "0\n1\n2\n"
    assert channel.text("stderr") == "bad\n"
    level, last = channel.logs[-1]
    assert (level, last["logger"]) == ("info", "counts")
    assert last["data"]["event"] == "completed"
    assert last["data"]["exit_status"] == 0
    assert [step["progress"] for step in channel.steps] == sorted(
        s["progress"] for s in channel.steps
    )
    assert text_of(outcome) == "0\n1\n2\n\nstderr:\nbad\n"


@requirement("S3.64")
async def test_a_tool_that_does_not_stream_tells_nothing_before_its_end(bench: Bench) -> None:
    bench.python("quiet", "print('x')")
    channel = MemoryChannel()
    await bench.call("quiet", channel=channel)
    assert channel.logs == []
    assert channel.steps == []


FORMS = {
    "plain": SECRET,
    "base64": base64.b64encode(f"user:{SECRET}".encode()).decode(),
    "hex": SECRET.encode().hex(),
    "url": SECRET.replace("-", "%2D"),
    "json": json.dumps({"k": SECRET}),
}


@requirement("S3.43", "S3.49", "S3.67")
@pytest.mark.parametrize("form", ["plain", "base64", "hex", "json"])
async def test_a_secret_is_not_told_not_even_byte_by_byte(bench: Bench, form: str) -> None:
    bench.env["MY_TOKEN"] = SECRET
    program = (
        "import base64, json, os, sys, time\n"
        "s = os.environ['T']\n"
        "text = dict(plain=s, base64=base64.b64encode(('user:' + s).encode()).decode(),"
        f" hex=s.encode().hex(), json=json.dumps(dict(k=s)))[{form!r}]\n"
        "for out in (sys.stdout, sys.stderr):\n"
        "    for letter in 'before ' + text + ' after':\n"
        "        out.write(letter); out.flush()\n"
        "        time.sleep(0.002)\n"
    )
    bench.python("slip", program, env={"T": "${MY_TOKEN}"}, streaming=True)
    channel = MemoryChannel()
    outcome = await bench.call("slip", channel=channel)
    everything = text_of(outcome) + json.dumps(channel.logs) + json.dumps(channel.steps)
    assert FORMS[form] not in everything
    assert SECRET not in everything
    # Nor most of it.
    for at in range(len(SECRET) - 8):
        assert SECRET[at : at + 8] not in everything
    for stream in ("stdout", "stderr"):
        assert channel.text(stream).startswith("before ")
        assert channel.text(stream).endswith(" after")
        assert "[redacted]" in channel.text(stream)
    assert outcome.figures is not None
    assert outcome.figures.redactions == 2


@requirement("S3.66")
@pytest.mark.parametrize("streaming", [False, True])
async def test_much_output_does_not_grow_memory(bench: Bench, streaming: bool) -> None:
    amount = 64 if streaming else 300
    program = (
        "import os\n"
        "os.write(1, b'the first line\\n')\n"
        "block = (b'x' * 127 + b'\\n') * 8192\n"
        f"for _ in range({amount}):\n"
        "    view = memoryview(block)\n"
        "    while view: view = view[os.write(1, view):]\n"
        "os.write(1, b'the last line\\n')"
    )
    bench.env["MY_TOKEN"] = SECRET
    bench.python("flood", program, env={"T": "${MY_TOKEN}"}, streaming=streaming)

    class Forgetful(MemoryChannel):
        def log(self, level: str, params: bytes) -> None:
            del level, params

        def progress(self, params: object) -> None:
            del params

    before = resident_bytes(os.getpid()) or 0
    highest = before
    async with bench.road() as (road, _):
        task = asyncio.ensure_future(road(bench.a_call("flood", channel=Forgetful())))
        while not task.done():
            await asyncio.wait({task}, timeout=0.05)
            highest = max(highest, resident_bytes(os.getpid()) or 0)
        outcome = await task
    assert highest - before < 64 * MIB
    assert outcome.figures is not None
    assert outcome.figures.bytes_stdout == amount * MIB + 29
    text = text_of(outcome)
    assert len(text) <= 2 * KEPT_BYTES + 100
    assert text.startswith("the first line\n")
    assert text.endswith("the last line\n")
    assert " bytes left out …]" in text


async def test_a_secret_at_the_edges_of_what_is_kept_is_not_told(bench: Bench) -> None:
    bench.env["MY_TOKEN"] = SECRET
    # Over and over, without a line's end, so that every edge cuts through one.
    program = "import os; print(os.environ['T'] * 100_000)"
    bench.python("repeat", program, env={"T": "${MY_TOKEN}"})
    text = text_of(await bench.call("repeat"))
    for at in range(len(SECRET) - 5):
        assert SECRET[at : at + 6] not in text.replace("[redacted]", "\0")


@requirement("S3.65")
async def test_a_client_that_does_not_read_stops_the_process(bench: Bench) -> None:
    program = (
        "import os\n"
        "block = (b'y' * 99 + b'\\n') * 100\n"
        "for n in range(2000):\n"
        "    view = memoryview(block)\n"
        "    while view: view = view[os.write(1, view):]\n"
        "    open('count', 'w').write(str(n + 1))"
    )
    bench.python("flood", program, streaming=True)
    channel = MemoryChannel()
    channel.stop_reading()

    def count() -> int:
        try:
            return int((bench.root / "count").read_text() or 0)
        except FileNotFoundError:
            return 0

    async with bench.road() as (road, _):
        task = asyncio.ensure_future(road(bench.a_call("flood", channel=channel)))
        await channel.said("y")
        stuck = -1
        while stuck != count():
            stuck = count()
            await asyncio.sleep(0.3)
        # One piece was taken, and what a pipe holds.
        assert stuck < 100
        assert not task.done()
        channel.read_on()
        outcome = await asyncio.wait_for(task, 60)
    assert count() == 2000
    assert len(channel.text("stdout")) == 20_000_000
    assert outcome.figures is not None
    assert outcome.figures.bytes_stdout == 20_000_000


async def test_a_client_that_never_reads_again_does_not_outlive_the_limit(bench: Bench) -> None:
    program = "while True: print('y' * 1000)"
    bench.python("flood", program, streaming=True, timeout_ms=1_000)
    channel = MemoryChannel()
    channel.stop_reading()
    async with asyncio.timeout(20):
        fault = await bench.refused("flood", channel=channel)
    assert fault.reason == "tool-timeout"


async def test_what_is_no_text_is_shown_as_far_as_it_is(bench: Bench) -> None:
    bench.python("bytes", r"import os; os.write(1, b'a\xff\xfe\x00b')")
    assert text_of(await bench.call("bytes")) == "a��\x00b"
