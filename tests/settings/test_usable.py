"""A broken file fails as a whole, and nothing else with it."""

from functools import partial
from typing import Any

import pytest

from settings.ground import Ground
from support.requirements import attack, requirement
from switchboard.config.problems import ConfigInvalid
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings
from switchboard.settings.usable import last_readings, usable_settings

MINE: dict[str, Any] = {"mcpServers": {"mine": {"command": "cat"}, "plain": {"command": "tac"}}}
# Without it the variable that trusts everything would not count beside other settings.
TRUSTING = "trust_variable = true\n"
THEIRS: dict[str, Any] = {"mcpServers": {"theirs": {"command": "cat"}}}


def usable(ground: Ground, earlier: Settings | None = None, **more: str) -> Settings:
    load = partial(
        load_settings,
        workspace=str(ground.workspace),
        environ=ground.environ(SWITCHBOARD_TRUST_WORKSPACE="1", **more),
    )
    return usable_settings(load, last_readings([earlier] if earlier else []))


def names(settings: Settings) -> list[str]:
    return [entry.name for entry in settings.servers]


@pytest.mark.parametrize("text", ["{", '{"mcpServers": {"x": {"command": "a", "odd": 1}}}', "[]"])
def test_the_servers_of_other_files_are_used(ground: Ground, text: str) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    path = ground.put(ground.own / "mcp.json", text)
    settings = usable(ground)
    assert names(settings) == ["mine", "plain"]
    [broken] = settings.broken
    assert (broken.path, broken.serves_on) == (str(path), False)
    assert broken.problems[0].line == 1
    # Whoever asks for everything is still refused.
    with pytest.raises(ConfigInvalid):
        ground.load()


def test_every_broken_file_is_told_also_those_that_show_one_after_the_other(
    ground: Ground,
) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    ground.put(ground.home / "config.toml", TRUSTING)
    paths = [
        ground.put(ground.own / "mcp.json", "{"),
        # Wrong only once it is laid over the others.
        ground.put(ground.own / "config.toml", '[mcp_servers.late]\nurl = "${NOT_SET}"\n'),
    ]
    settings = usable(ground)
    assert names(settings) == ["mine", "plain"]
    assert sorted(file.path for file in settings.broken) == sorted(map(str, paths))


def test_what_a_file_held_before_still_counts(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    ground.put(ground.home / "config.toml", TRUSTING)
    path = ground.put(ground.own / "mcp.json", THEIRS)
    earlier = usable(ground)
    assert earlier.broken == ()
    path.write_text("{")
    ground.put(ground.home / "mcp.json", {"mcpServers": {"new": {"command": "cat"}}})
    settings = usable(ground, earlier)
    assert names(settings) == ["new", "theirs"]
    assert [file.serves_on for file in settings.broken] == [True]
    # The text that serves on is the last good one for the next time, too.
    assert names(usable(ground, settings)) == ["new", "theirs"]


def test_a_text_that_was_good_and_is_not_any_more_does_not_serve_on(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    ground.put(ground.home / "config.toml", TRUSTING)
    path = ground.put(ground.own / "config.toml", '[mcp_servers.r]\nurl = "${WHERE}"\n')
    earlier = usable(ground, WHERE="http://127.0.0.1:1/")
    path.write_text("[")
    assert names(usable(ground, earlier)) == ["mine", "plain"]


# Below the file that confines it.
CONFINED = '[mcp_servers.mine]\ncommand = "cat"\n[mcp_servers.plain]\ncommand = "tac"\n'
POLICY = """
[mcp_servers.mine]
sandbox_profile = "default"
trust_annotations = {wrong}
"""


def test_settings_that_nobody_can_read_open_nothing(ground: Ground) -> None:
    """The file confines a server of another file; without it that server must not run open."""
    ground.put(ground.agh_home / "config.toml", CONFINED)
    ground.put(ground.home / "config.toml", POLICY.format(wrong="1"))
    settings = usable(ground)
    assert names(settings) == ["plain"]
    [left_out] = settings.omitted
    assert left_out.entry.name == "mine"
    assert left_out.reason == "`config.toml` cannot be used, and may hold settings of it"
    # What it says of the gate is not known either, so the strictest counts.
    assert settings.is_guarded
    assert settings.approval_channel == "console"
    assert [entry.trust_annotations for entry in settings.servers] == [False]


@pytest.mark.parametrize(
    "text", ["guard = false\n[", "[approvals\n", b"\xff\xfe", "x = 1\n" * 200_000]
)
def test_a_broken_file_of_the_home_never_switches_the_gate_off(
    ground: Ground, text: str | bytes
) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    ground.put(ground.home / "config.toml", text)
    settings = usable(ground, ENABLE_MCP_SERVER_SURFACE="0")
    assert settings.is_guarded
    assert settings.approval_channel == "console"


def test_a_last_good_reading_needs_no_caution(ground: Ground) -> None:
    ground.put(ground.agh_home / "config.toml", CONFINED)
    path = ground.put(ground.home / "config.toml", POLICY.format(wrong="true"))
    earlier = usable(ground)
    path.write_text("[")
    settings = usable(ground, earlier)
    assert names(settings) == ["mine", "plain"]
    assert {entry.name: entry.sandbox_profile for entry in settings.servers} == {
        "mine": "default",
        "plain": "none",
    }
    assert settings.approval_channel == "any"


def test_a_new_file_that_was_never_good_counts_as_not_there(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    earlier = usable(ground)
    ground.put(ground.own / "config.toml", "[")
    settings = usable(ground, earlier)
    assert names(settings) == ["mine", "plain"]
    assert [file.serves_on for file in settings.broken] == [True]
    assert settings.approval_channel == "any"
    # Where nobody knows how it was before, the strictest counts, also the next time.
    cold = usable(ground)
    for each in (cold, usable(ground, cold)):
        assert each.approval_channel == "console"


def test_what_is_wrong_in_no_file_is_refused(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    with pytest.raises(ConfigInvalid):
        usable(ground, ENABLE_MCP_SERVER_SURFACE="perhaps")


@requirement("S4.20")
@pytest.mark.parametrize(
    ("written", "transport"),
    [("stdio", "stdio"), ("http", "http"), ("streamable-http", "http"), ("sse", "sse")],
)
def test_type_is_another_name_of_transport(ground: Ground, written: str, transport: str) -> None:
    to = {"command": "cat"} if written == "stdio" else {"url": "http://127.0.0.1:1/"}
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": {"type": written, **to}}})
    [entry] = ground.load().servers
    assert entry.transport == transport
    (ground.home / "mcp.json").unlink()
    [(key, value)] = to.items()
    for table in ("[mcp_servers.x]", '[[mcp_servers]]\nname = "x"'):
        ground.put(ground.home / "config.toml", f'{table}\ntype = "{written}"\n{key} = "{value}"\n')
        [entry] = ground.load().servers
        assert entry.transport == transport


def test_type_and_transport_must_not_differ_and_its_place_is_told(ground: Ground) -> None:
    entry = {"url": "http://127.0.0.1:1/", "type": "sse", "transport": "http"}
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": entry}})
    [problem] = ground.refused()
    assert (problem.key, problem.line) == ("mcpServers.x.type", 5)
    assert "another name of `transport`" in problem.message
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": {"type": "http", "command": "a"}}})
    assert {problem.key for problem in ground.refused()} >= {"mcpServers.x.command"}


@attack("T8")
@pytest.mark.parametrize("text", [b"mine plain theirs = = \n", b"\xff\xfe", b"", None])
def test_a_broken_file_of_a_workspace_takes_no_server_of_the_home_away(
    ground: Ground, text: bytes | None
) -> None:
    ground.put(ground.home / "mcp.json", MINE)
    ground.put(ground.own / "mcp.json", THEIRS)
    path = ground.own / "config.toml"
    if text is None:
        path.mkdir(parents=True)
    elif text:
        path.write_bytes(text)
    else:
        path.symlink_to("/etc/passwd")
    settings = usable(ground)
    assert [file.path for file in settings.broken] == [str(path)]
    assert [*names(settings)][:2] == ["mine", "plain"]
    assert all(entry.trust_annotations for entry in settings.servers[:2])
    assert "theirs" not in names(settings)
