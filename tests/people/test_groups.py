"""What people see, and who may say yes for them, by the groups that they are in."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from people.ground import Town, begin, client, modern, request, town, write
from support.requirements import attack
from support.workspace import Json, child_command
from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.origins import Origin
from switchboard.core.people import Person
from switchboard.daemon.team.person_settings import settings_for
from switchboard.people.options import GroupRule, PeopleOptions
from switchboard.postgres.address import DatabaseAddress
from switchboard.settings.sections import Settings, ToolFilters

RULES = """
[people.groups."*"]
server_tools = ["ledger.read", "ledger.browse", "frank.hear*"]
[people.groups.writers]
server_tools = ["ledger.*"]
hidden_server_tools = ["ledger.erase"]
[people.groups.strict]
server_tools = ["ledger.*"]
approval_channel = "console"
[people.groups.blind]
deny = ["ledger_suite"]
[people.groups.readers]
server_tools = ["frank.*"]
hidden_server_tools = ["frank.die"]
"""
RUNS = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(database: DatabaseAddress) -> AsyncGenerator[Town]:
    command, *args = child_command("frank_child", "modern", "frank", "0")
    frank = f"""
[mcp_servers.frank]
command = {json.dumps(command)}
args = {json.dumps(args)}
expose = "tools"
"""
    async with town(database, more=RULES + frank, gateways=1) as running:
        yield running


async def ask(team: Town, token: str, method: str, params: Json) -> Json:
    async with client() as http:
        body, headers = modern(token, method, params)
        return (await http.post(team.resource, json=body, headers=headers)).json()


async def read(team: Town, token: str, uri: str) -> Json:
    body, headers = modern(token, "resources/read", {"uri": uri})
    async with client() as http:
        told = await http.post(team.resource, json=body, headers={**headers, "mcp-name": uri})
    return told.json()


async def subtools(team: Town, token: str) -> set[str]:
    params = {"name": "ledger_suite", "arguments": {"action": "introspect"}}
    told = await ask(team, token, "tools/call", params)
    return {each["name"] for each in json.loads(told["result"]["content"][0]["text"])["tools"]}


async def called(team: Town, token: str, subtool: str, **args: Any) -> Json:
    arguments = {"action": "call", "subtool": subtool, "args": args}
    params = {"name": "ledger_suite", "arguments": arguments}
    return (await ask(team, token, "tools/call", params))["result"]


@RUNS
async def test_each_group_sees_its_own_tools_and_can_call_no_others(team: Town) -> None:
    nobody, writer = team.signed("ada"), team.signed("bob", groups=["writers", "unheard-of"])
    assert await subtools(team, nobody) == {"read", "browse"}
    assert await subtools(team, writer) == {"write", "begin", "read", "browse", "reword", "ask"}
    assert not (await called(team, nobody, "read")).get("isError")
    for token, hidden in ((nobody, "write"), (writer, "erase"), (nobody, "erase")):
        refused = await called(team, token, hidden, text="never")
        assert refused["isError"], refused
        assert "inputRequests" not in refused
    assert "never" not in team.gate.written
    assert "inputRequests" in await called(team, writer, "write", text="may be asked")


@RUNS
async def test_a_tool_that_a_group_may_not_see_is_neither_listed_nor_described(team: Town) -> None:
    blind, other = team.signed("eve", groups=["blind"]), team.signed("ada")
    listed = [
        {each["name"] for each in (await ask(team, token, "tools/list", {}))["result"]["tools"]}
        for token in (blind, other)
    ]
    assert "ledger_suite" not in listed[0]
    assert listed[1] - listed[0] == {"ledger_suite"}
    discovered = await ask(team, blind, "server/discover", {})
    assert "ledger" not in json.dumps(discovered)
    refused = await ask(team, blind, "tools/call", write("never"))
    assert "ledger_suite" in json.dumps(refused)
    assert "inputRequests" not in json.dumps(refused)


@RUNS
@attack("T78")
async def test_whoever_may_use_a_tool_of_a_server_has_nothing_else_of_it(team: Town) -> None:
    some, whole = team.signed("ada"), team.signed("bob", groups=["readers"])
    tools = (await ask(team, some, "tools/list", {}))["result"]["tools"]
    assert "heard" in {each["name"] for each in tools}
    shown = (await ask(team, whole, "resources/list", {}))["result"]["resources"]
    assert (await ask(team, whole, "prompts/list", {}))["result"]["prompts"]
    uri = shown[0]["uri"]
    reads = [await read(team, token, uri) for token in (some, whole)]
    assert ["contents" in each.get("result", {}) for each in reads] == [False, True]
    for kind in ("prompts", "resources"):
        listed = await ask(team, some, f"{kind}/list", {})
        assert not listed.get("result", {}).get(kind), listed


@RUNS
async def test_somebody_who_left_a_group_has_lost_it_with_their_next_token_in_an_open_session(
    team: Town,
) -> None:
    listing = request("tools/list", {})
    calling = request("tools/call", {"name": "ledger_suite", "arguments": {"action": "introspect"}})
    async with client() as http:
        before = team.signed("ada", groups=["writers"])
        session = await begin(http, team.resource, before)
        first = await http.post(team.resource, json=calling, headers=session)
        assert '\\"write\\"' in first.text
        after = {**session, "authorization": f"Bearer {team.signed('ada', groups=[])}"}
        second = await http.post(team.resource, json=calling, headers=after)
        assert second.status_code == 200
        assert '\\"write\\"' not in second.text
        blind = {**session, "authorization": f"Bearer {team.signed('ada', groups=['blind'])}"}
        third = await http.post(team.resource, json=listing, headers=blind)
        assert "ledger_suite" not in third.text


@RUNS
async def test_for_a_strict_group_the_client_may_not_say_yes(team: Town) -> None:
    strict = team.signed("ada", groups=["strict"])
    async with client() as http:
        body, headers = modern(strict, "tools/call", write("by the console"))
        body["params"]["_meta"]["switchboard/timeout_ms"] = 2_000
        answer = (await http.post(team.resource, json=body, headers=headers)).json()
    assert "inputRequests" not in json.dumps(answer)
    assert "by the console" not in team.gate.written


# What is left of the settings, without anything running


def people(**rules: GroupRule) -> Settings:
    servers = tuple(
        ServerEntry(name=name, transport="stdio", command="x", origin=Origin()) for name in "ab"
    )
    return Settings(
        workspace="/w",
        home="/h",
        servers=servers,
        suites={"a": SuiteSettings(allow=("get_*", "put"))},
        tools=ToolFilters(allow=("a_*", "b_suite"), deny=("never",)),
        people=PeopleOptions(issuer="https://i", resource="https://r", groups=rules),
    )


def seen(settings: Settings, *groups: str) -> Settings:
    return settings_for(settings, Person(key="k", subject="s", groups=frozenset(groups)))


def test_without_lists_everybody_sees_what_there_is() -> None:
    settings = people(one=GroupRule(deny=("b_*",)))
    assert seen(settings) == settings
    assert seen(settings, "one").tools.deny == ("never", "b_*")


def test_allowances_of_groups_add_up_denials_win_and_nothing_is_more_than_for_everybody() -> None:
    settings = people(
        one=GroupRule(allow=("a_suite", "c_suite")),
        two=GroupRule(allow=("*",), deny=("a_secret",)),
    )
    assert seen(settings).tools.allow == ()
    assert seen(settings, "one").tools.allow == ("a_suite",)
    both = seen(settings, "one", "two").tools
    assert set(both.allow or ()) == {"a_suite", "a_*", "b_suite"}
    assert both.deny == ("never", "a_secret")


def test_a_server_of_which_a_group_sees_nothing_is_not_there_for_it() -> None:
    settings = people(one=GroupRule(server_tools=("a.get_one", "a.other", "a.*")))
    left = seen(settings, "one")
    assert [entry.name for entry in left.servers] == ["a"]
    assert set(left.suites["a"].allow or ()) == {"get_one", "get_*", "put"}
    assert seen(settings).servers == ()
    hidden = people(one=GroupRule(hidden_server_tools=("b.*", "a.put")))
    assert [entry.name for entry in seen(hidden, "one").servers] == ["a"]
    assert seen(hidden, "one").suites["a"].deny == ("put",)


@pytest.mark.parametrize(
    ("all_", "own", "is_"),
    [
        ("any", ("console",), "console"),
        ("any", ("console", "any"), "any"),
        ("console", ("any",), "console"),
        ("any", ("none",), "none"),
        ("any", (), "any"),
    ],
)
def test_a_group_makes_the_channel_of_approvals_stricter_and_never_looser(
    all_: Any, own: tuple[Any, ...], is_: str
) -> None:
    rules = {f"g{number}": GroupRule(approval_channel=each) for number, each in enumerate(own)}
    settings = replace(people(**rules), approval_channel=all_)
    assert seen(settings, *rules).approval_channel == is_


def test_questions_are_for_whom_they_are_asked_and_for_groups_that_may_answer_for_them() -> None:
    options = PeopleOptions(
        issuer="https://i",
        resource="https://r",
        groups={
            "leads": GroupRule(approves_for=("juniors",)),
            "admins": GroupRule(approves_for=("*",)),
        },
    )

    def may(groups: tuple[str, ...], asked_of: str, theirs: tuple[str, ...]) -> bool:
        person = Person(key="k", subject="s", groups=frozenset(groups))
        return options.may_answer(person, asked_of, theirs)

    assert may((), "k", ())
    assert not may((), "other", ("juniors",))
    assert may(("leads",), "other", ("juniors", "staff"))
    assert not may(("leads",), "other", ("staff",))
    assert may(("admins",), "other", ())
    assert not may(("juniors",), "other", ("juniors",))
