"""The schemas in `schemas/` are current, and judge as the checker does."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from settings.examples import AUTH, BAD, COMPLETE, CONTEXT7, SNAKE
from support.requirements import requirement
from switchboard.settings.docs.jsonschema import schemas
from switchboard.settings.docs.schemas import main

FOLDER = Path(__file__).parents[2] / "schemas"


def _accepts(name: str, value: Any) -> bool:
    return jsonschema_rs.is_valid(json.loads((FOLDER / name).read_text("utf-8")), value)


def test_the_committed_schemas_are_current(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["--check", str(FOLDER)]) == 0
    assert main(["--check", str(tmp_path)]) == 1
    assert "not current" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0


@pytest.mark.parametrize("name", sorted(schemas()))
def test_each_is_a_schema(name: str) -> None:
    jsonschema_rs.meta.validate(json.loads((FOLDER / name).read_text("utf-8")))


@requirement("S4.16", "S4.17", "S2.36", "S3.117")
def test_the_examples_of_the_documents_are_accepted() -> None:
    assert _accepts("mcp.schema.json", json.loads(COMPLETE))
    assert _accepts("mcp.schema.json", json.loads(SNAKE))
    assert _accepts("child.mcp.schema.json", json.loads(CONTEXT7))
    assert _accepts("mcp.schema.json", {"mcpServers": {"x": {"url": "https://a", "auth": AUTH}}})
    assert _accepts(
        "switchboard.config.schema.json",
        {
            "discoverGlobs": [".switchboard/mcps/*/.mcp.json"],
            "suites": {},
            "timeouts": {"childSpawnMs": 8000, "rpcMs": 60000},
            "introspection": {"mode": "summary", "summaryMaxChars": 160},
        },
    )
    assert _accepts("config.schema.json", {"enable_mcp_server_surface": True})
    assert _accepts("config.schema.json", {"mcp_servers": [{"name": "x", "url": "${U}/mcp"}]})
    assert _accepts("config.schema.json", {"mcp_servers": {"x": {"command": ""}}})


# What only the checker knows: names after trimming, other servers' vaults, dangerous variables.
_BEYOND_A_SCHEMA = ("twice", "another", "foreign", "NUL", "empty")


@pytest.mark.parametrize(("content", "words"), [(content, words) for _, content, _, words in BAD])
def test_what_the_checker_refuses_the_schema_refuses(content: dict[str, Any], words: str) -> None:
    if not words.startswith(_BEYOND_A_SCHEMA):
        assert not _accepts("mcp.schema.json", content)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("switchboard.config.schema.json", {"discoverGlob": []}),
        ("switchboard.config.schema.json", {"timeouts": {"rpcMs": "60s"}}),
        ("switchboard.config.schema.json", {"introspection": {"mode": "redacted"}}),
        ("switchboard.config.schema.json", {"suites": {"x": {"expose": {"deny": "a"}}}}),
        ("config.schema.json", {"logging": {"levle": "x"}}),
        ("config.schema.json", {"mcp": {"x": {"args": []}}}),
        ("config.schema.json", {"mcp_servers": [{"command": "x"}]}),
        ("config.schema.json", {"mcp_servers": {"x": {"transport": "ws"}}}),
        ("child.mcp.schema.json", {"command": {"cmd": "x"}}),
        ("child.mcp.schema.json", {"name": "x", "command": "npx"}),
    ],
)
def test_wrong_files_are_refused(name: str, value: Any) -> None:
    assert not _accepts(name, value)
