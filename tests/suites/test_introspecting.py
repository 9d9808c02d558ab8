"""`introspect` tells what a child can do, within the limits that its suite sets."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from fakes.boards import echo_server, misbehaving_server, serving, text_of
from support.processes import mentioning
from support.requirements import requirement
from switchboard.children.exposure import Introspection, SuiteSettings
from switchboard.core.events import ChildStarted
from switchboard.core.faults import FaultCode

LONG = (
    "Says the given text again. Use it to see that a call came through and what it carried; the "
    "text comes back unchanged after a short prefix, whatever characters it is made of."
)


@requirement("S2.43", "S2.46", "S2.72", "S2.08")
async def test_introspect_gives_name_summary_and_schema_as_json_in_one_text_block(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        outcome = await desk.call("echo_suite", {"action": "introspect"})
        [block] = outcome.blocks
        shown = json.loads(text_of(outcome))
        assert list(shown) == ["tools", "instructions"]
        assert all(list(tool) == ["name", "summary", "inputSchema"] for tool in shown["tools"])
        by_name = {tool["name"]: tool for tool in shown["tools"]}
        assert by_name["add"] == {
            "name": "add",
            "summary": "Adds two numbers.",
            "inputSchema": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        }
        assert block
        assert not outcome.is_error


@requirement("S2.45", "S2.26", "S2.27")
async def test_by_default_a_description_is_shortened_to_160_characters(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        summary = (await desk.introspect("echo_suite"))["echo"]["summary"]
        assert 80 < len(summary) <= 160 < len(LONG)
        assert LONG.startswith(summary.removesuffix("..."))


@requirement("S2.17", "S2.20", "S2.21")
@pytest.mark.parametrize(
    ("introspection", "own", "expected"),
    [
        (Introspection(mode="full"), SuiteSettings(), LONG),
        (Introspection(summary_max_chars=40), SuiteSettings(), "Says the given text again."),
        (Introspection(), SuiteSettings(summary_max_chars=30), "Says the given text again."),
    ],
    ids=["full", "for all", "of the suite"],
)
async def test_how_much_is_said_follows_the_settings(
    introspection: Introspection, own: SuiteSettings, expected: str, tmp_path: Path
) -> None:
    async with serving(
        tmp_path, echo_server(), suites={"echo": own}, introspection=introspection
    ) as desk:
        assert (await desk.introspect("echo_suite"))["echo"]["summary"] == expected


async def test_one_subtool_can_be_asked_for_in_full(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        shown = await desk.introspect("echo_suite", subtool="echo")
        assert list(shown) == ["echo"]
        assert shown["echo"]["summary"] == LONG


@requirement("S2.44", "S2.15", "S2.16")
@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (SuiteSettings(allow=("echo", "add")), {"echo", "add"}),
        (SuiteSettings(allow=("echo", "add"), deny=("add",)), {"echo"}),
        (
            SuiteSettings(deny=("*a*",)),
            {"echo", "refuse", "picture", "report", "history"},
        ),
        (SuiteSettings(allow=()), set[str]()),
    ],
)
async def test_introspect_keeps_to_the_allow_and_deny_lists(
    own: SuiteSettings, expected: set[str], tmp_path: Path
) -> None:
    async with serving(tmp_path, echo_server(), suites={"echo": own}) as desk:
        assert set(await desk.introspect("echo_suite")) == expected


@requirement("S2.48")
async def test_an_excluded_subtool_cannot_be_introspected_and_the_child_is_not_started(
    tmp_path: Path,
) -> None:
    own = {"echo": SuiteSettings(deny=("fail",))}
    async with serving(tmp_path, echo_server(), suites=own) as desk:
        fault = await desk.fault("echo_suite", action="introspect", subtool="fail")
        assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "subtool-not-allowed")
        assert mentioning(str(tmp_path)) == []


async def test_an_unknown_subtool_is_named_with_what_was_probably_meant(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        fault = await desk.fault("echo_suite", action="introspect", subtool="ecko")
        assert (fault.code, fault.reason) == (FaultCode.NOT_FOUND, "unknown-subtool")
        assert fault.hint == "did you mean `echo`?"


async def test_a_suite_is_introspected_anew_when_its_child_says_that_its_tools_changed(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, misbehaving_server("changing-tools")) as desk:
        suite = "changing-tools_suite"
        assert "leaf" not in await desk.introspect(suite)
        await desk.subtool(suite, "grow", name="leaf")
        assert "leaf" in await desk.introspect(suite)


@requirement("S2.108")
async def test_several_children_are_introspected_side_by_side(tmp_path: Path) -> None:
    slow = [
        misbehaving_server("slow-start", "0.5", env={"NUMBER": str(number)}) for number in range(4)
    ]
    servers = [replace(entry, name=f"slow{number}") for number, entry in enumerate(slow)]
    async with serving(tmp_path, *servers) as desk:
        clock = asyncio.get_running_loop().time
        began = clock()
        await asyncio.gather(*(desk.introspect(f"slow{number}_suite") for number in range(4)))
        started = desk.events.of(ChildStarted)
        assert len(started) == 4
        # All were starting at one time: their starts add up to more than the time that passed.
        assert sum(event.duration_s for event in started) > clock() - began


async def test_one_broken_child_hides_and_delays_no_healthy_one(tmp_path: Path) -> None:
    servers = [misbehaving_server("hang-at-start"), echo_server()]
    async with serving(tmp_path, *servers) as desk:
        hanging = asyncio.ensure_future(desk.introspect("hang-at-start_suite"))
        async with asyncio.timeout(10):
            assert "echo" in await desk.introspect("echo_suite")
        assert not hanging.done()
        hanging.cancel()
        await asyncio.wait({hanging})
