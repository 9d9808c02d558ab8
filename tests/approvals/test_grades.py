"""Three grades of risk: what each is for, and that none of them decides who is asked."""

from typing import Any

import pytest

from approvals.ground import READS, WRITES, a_command, a_launch, a_tool
from support.requirements import requirement
from switchboard.approvals.risk import asks, assess
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import Effects

SILENT = Effects()


def tool(name: str, effects: Effects = SILENT, **more: Any) -> Launch:
    return a_launch(a_tool(name, effects=effects, description="Does it."), **more)


@pytest.mark.parametrize(
    ("launch", "level"),
    [
        (tool("delete_repo"), "high"),
        (tool("dropTable"), "high"),
        (tool("create-payment-refund"), "high"),
        (tool("sendEmail"), "high"),
        (tool("git_push", WRITES), "high"),
        (tool("write_file", Effects(read_only=False, destructive=True)), "high"),
        (tool("create_issue", Effects(read_only=False, open_world=True)), "high"),
        (a_command(side_effects=("network",), network=True), "high"),
        (tool("create_entities", WRITES), "medium"),
        (tool("search"), "medium"),
        (tool("postal_code"), "medium"),
        (tool("read_query", READS, trusts_annotations=False), "medium"),
        (a_command(sandbox="none"), "medium"),
        (tool("delete_preview", READS), "low"),
        (tool("fetch", Effects(read_only=True, open_world=True)), "low"),
        (a_command(), "low"),
    ],
    ids=lambda each: each.tool.name if isinstance(each, Launch) else each,
)
def test_a_grade_follows_from_what_is_declared_and_from_the_name(
    launch: Launch, level: str
) -> None:
    assert assess(launch).level == level


@requirement("S3.104", "S3.105")
@pytest.mark.parametrize("name", ["search", "delete_repo"])
@pytest.mark.parametrize("effects", [SILENT, WRITES, Effects(destructive=True)])
def test_every_grade_of_a_tool_that_is_not_known_to_read_must_ask(
    name: str, effects: Effects
) -> None:
    launch = tool(name, effects, requires_approval=False)
    assert assess(launch).must_ask
    assert asks(launch, assess(launch))


def test_a_name_makes_nobody_ask() -> None:
    launch = tool("delete_preview", READS)
    assert not asks(launch, assess(launch))
