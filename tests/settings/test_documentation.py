"""The examples of `docs/configuration.md` load."""

import re
from pathlib import Path

import pytest

from settings.ground import Ground
from switchboard.settings.fields import VARIABLES
from switchboard.settings.files.file_shapes import CHILD, SUITES
from switchboard.settings.files.server_shapes import SERVER_OBJECT as SERVER

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("section", "place"),
    [
        ("`mcp.json`", ".switchboard/mcp.json"),
        ("`config.toml`", ".switchboard/config.toml"),
        ("`switchboard.config.json`", "switchboard.config.json"),
    ],
)
def test_an_example_of_the_page_loads(ground: Ground, section: str, place: str) -> None:
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```(?:json|toml)\n(.*?)```", text, re.DOTALL)
    ground.put(ground.workspace / place, blocks[0])
    for block in blocks[1:]:
        ground.child("documented", block)
    assert ground.load().files


def test_the_page_names_every_field_and_every_variable() -> None:
    fields = [*SERVER.fields, *SUITES.fields, *SUITES.fields["suites"].value.fields, *CHILD.fields]
    wanted = {name for name in fields if name not in ("$schema", "type", "env")}
    variables = {each.name for each in VARIABLES if each.key[0] != "agents"}
    internal = {"enable_mcp_server_surface"}
    missing = [name for name in sorted(wanted | variables - internal) if name not in PAGE]
    assert missing == []
