"""`config explain` and `config show`: values with their origins, without secrets."""

from collections.abc import Callable
from typing import Any

import pytest

from settings.ground import Ground
from switchboard.core.origins import Origin, Scope
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secrets import REDACTED
from switchboard.settings.explain import UnknownKey, explain, redacted, show
from switchboard.settings.load import Loading, load


@pytest.fixture
def loaded(ground: Ground) -> Callable[..., Loading]:
    def run(**variables: str) -> Loading:
        flags: dict[str, Any] = {"trust_workspace": True}
        return load(
            workspace=str(ground.workspace), environ=ground.environ(**variables), flags=flags
        )[1]

    return run


def test_a_field_that_toml_covered_is_explained_step_by_step(
    ground: Ground, loaded: Callable[..., Loading]
) -> None:
    home = ground.put(
        ground.home / "config.toml", '[mcp_servers.gh]\ncommand = "one"\nargs = ["a"]\n'
    )
    own = ground.put(ground.own / "config.toml", '\n[mcp_servers.gh]\ncommand = "two"\n')
    told = explain(loaded(), "mcp_servers.gh.command")
    assert told.value == "two"
    assert told.origin == Origin(scope=Scope.WORKSPACE, path=str(own), line=3, column=1)
    assert str(told.origin) == f"workspace, {own}:3"
    (before,) = told.replaced
    assert (before.value, before.origin.path, before.origin.line) == ("one", str(home), 2)
    args = explain(loaded(), "mcp_servers.gh.args")
    assert (args.value, args.origin.scope, args.replaced) == (["a"], Scope.HOME, ())


def test_a_field_of_a_replaced_object_is_explained(
    ground: Ground, loaded: Callable[..., Loading]
) -> None:
    ground.put(ground.home / "mcp.json", '{"mcpServers": {"a.b": {"command": "one"}}}')
    ground.put(ground.own / "mcp.json", '{"mcp_servers": {\n"a.b": {"command": "two"}}}')
    told = explain(loaded(), "mcpServers.a.b.command")
    assert (told.key, told.value, told.origin.line) == ("mcp_servers.a.b.command", "two", 2)
    assert [(step.value, step.origin.scope) for step in told.replaced] == [("one", Scope.HOME)]
    whole = explain(loaded(), "mcp_servers.a.b")
    assert whole.value == {"command": "two"}
    assert [step.value for step in whole.replaced] == [{"command": "one"}]


def test_environment_flags_and_defaults_are_origins_too(
    ground: Ground, loaded: Callable[..., Loading]
) -> None:
    assert explain(loaded(), "server.port").origin == Origin()
    ground.put(ground.home / "config.toml", "[server]\nport = 9\n")
    told = explain(loaded(PORT="10"), "server.port")
    assert (told.value, str(told.origin)) == (10, "environment, PORT")
    assert [(step.value, step.origin.scope) for step in told.replaced] == [
        (9, Scope.HOME),
        (8081, Scope.DEFAULT),
    ]
    level = explain(loaded(TRACING_FILTER="debug"), "logging.filter")
    assert str(level.origin) == "environment, TRACING_FILTER"


def test_an_unknown_key_comes_with_a_suggestion(loaded: Callable[..., Loading]) -> None:
    with pytest.raises(UnknownKey) as caught:
        explain(loaded(), "timeouts.rpcM")
    assert caught.value.hint == "did you mean `timeouts.rpcMs`?"


def test_a_known_key_that_nobody_sets_is_explained_by_its_default(
    ground: Ground, loaded: Callable[..., Loading]
) -> None:
    ground.put(ground.home / "mcp.json", '{"mcpServers": {"x": {"command": "one"}}}')
    for key, value in (
        ("mcp_servers.x.relay", True),
        ("mcp_servers.x.scope", "workspace"),
        ("daemon.idle_ms", 900_000),
        ("tools.allow", None),
    ):
        told = explain(loaded(), key)
        assert (told.key, told.value, told.origin, told.replaced) == (key, value, Origin(), ())
    with pytest.raises(UnknownKey) as caught:
        explain(loaded(), "mcp_servers.x.rely")
    assert caught.value.hint == "did you mean `mcp_servers.x.relay`?"


def test_show_lists_everything_with_origins_and_no_secret(
    ground: Ground, loaded: Callable[..., Loading]
) -> None:
    ground.put(
        ground.home / "mcp.json",
        """{"mcpServers": {
            "x": {"command": "x", "env": {"API_KEY": "hunter2", "PLAIN": "seen"}},
            "y": {"url": "https://a.example", "headers": {"X-Any": "hunter2"}}}}""",
    )
    ground.child("child")
    shown = {each.key: each for each in show(loaded())}
    assert "hunter2" not in repr(shown)
    assert shown["mcp_servers.x.env.API_KEY"].value == REDACTED
    assert shown["mcp_servers.x.env.PLAIN"].value == "seen"
    assert shown["mcp_servers.child.command"].origin.scope is Scope.WORKSPACE
    assert shown["timeouts.rpcMs"].origin == Origin()
    assert "hunter2" not in repr(explain(loaded(), "mcp_servers.x").to_dict())


SHAPES = (
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1_" * 10,
    "glpat-" + "a1-" * 8,
    "sk-" + "a1" * 20,
    "sk_live_" + "a1" * 10,
    "xoxb-" + "1a" * 10,
    "AKIA" + "A1" * 8,
    "AIza" + "a1" * 18,
    "npm_" + "a1" * 18,
    "hf_" + "ab" * 12,
    "pypi-" + "a1" * 20,
    "ya29." + "a1" * 12,
    "eyJ" + "a1" * 8 + "." + "b2" * 8 + "." + "c3" * 8,
    "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----",
    "bearer " + "a1" * 12,
    "password=hunter2hunter2",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_show_and_explain_hide_every_shape_that_approvals_hide(
    ground: Ground, loaded: Callable[..., Loading], shape: str
) -> None:
    """Wherever it stands: among arguments, in plain variables, in an address, in words."""
    assert shape not in redacted_text(f"run {shape}")
    ground.put(
        ground.home / "mcp.json",
        {
            "mcpServers": {
                "x": {
                    "command": "x",
                    "args": ["run", shape, f"--with={shape}"],
                    "env": {"PLAIN": shape},
                    "description": f"Uses {shape}.",
                },
                "y": {"url": "https://a.example/mcp", "headers": {"X-Any": shape}},
            }
        },
    )
    loading = loaded()
    shown = show(loading)
    assert shape not in repr(shown)
    assert repr(shape)[1:-1] not in repr(shown)
    for each in shown:
        assert repr(shape)[1:-1] not in repr(explain(loading, each.key).to_dict())
    args = next(each.value for each in shown if each.key == "mcp_servers.x.args")
    assert args[0] == "run"


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        (["--token", "s3", "x"], ["--token", REDACTED, "x"]),
        (["--api-key=s3", "-v"], [f"--api-key={REDACTED}", "-v"]),
        (["--max-tokens", "5", "--token-file", "f"], ["--max-tokens", "5", "--token-file", "f"]),
        (["--token", "--next"], ["--token", "--next"]),
        ("https://me:s3@a.example/x", f"https://{REDACTED}@a.example/x"),
        (
            "https://a.example/?access_token=s3&q=1",
            f"https://a.example/?access_token={REDACTED}&q=1",
        ),
        ("https://a.example/?key=s3", f"https://a.example/?key={REDACTED}"),
        ("plain", "plain"),
        (5, 5),
        ("", ""),
    ],
)
def test_secrets_in_arguments_and_addresses_are_taken_out(value: Any, clean: Any) -> None:
    assert redacted(value, ("mcp_servers", "x", "args")) == clean


@pytest.mark.parametrize(
    "name", ["guard", "enable_mcp_server_surface", "server.enable_mcp_server_surface"]
)
def test_every_name_of_a_key_leads_to_it(
    ground: Ground, loaded: Callable[..., Loading], name: str
) -> None:
    ground.put(ground.home / "config.toml", "enable_mcp_server_surface = true\n")
    told = explain(loaded(), name)
    assert (told.key, told.value) == ("guard", True)
