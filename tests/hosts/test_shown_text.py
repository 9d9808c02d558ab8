"""Of a host's file a difference shows the keys and what comes in, and no value of its owner."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import attack
from switchboard.hosts.change import Granted, Placed, changed
from switchboard.hosts.edits.edit import Format
from switchboard.hosts.shown_text import shown_text

OURS = {"command": "/opt/bin/switchboard", "args": ["mcp"], "timeout": 3600}

JSON = """\
{
  // was Zq-comment
  "before": "Zq-before", /* Zq-more
  Zq-more */ "pin": 98765432,
  "provider": {"http_headers": {"X-Own": "Zq-header"}},
  "inputs": [{"default": "Zq-input"}],
  "servers": {
    "pos": {"command": "npx", "args": ["-y", "Zq-word", "--header", "X-Own: Zq-value"]},
    "joined": {"command": "npx", "args": ["--token=Zq-joined", "-uadmin:Zq", "-pZq", "--ZqFlag"]},
    "conn": {"command": "npx", "args": ["--conn", "Server=db;Pwd=Zq", "{\\"key\\": \\"Zq\\"}"]},
    "shell": {"command": "sh", "args": ["-c", "export X=Zq-shell; exec srv"]},
    "cmd": {"command": "TOKEN=Zq-cmd npx"},
    "words": {"command": ["npx", "-y", "Zq-listed"], "enabled": true},
    "far": {"type": "http", "url": "https://h.example/Zq-path?Zq-query#Zq-fragment"},
    "odd": {"type": "Zq-type", "env": {"PIN": 98765432, "A": "p\u00e4\\"ss\\\\Zq\\u20ac"},
      "note": "Zq"}
  },
  "after": "Zq-after"
}
"""
TOML = """\
# old password Zq-comment
[model_providers.p]
experimental_bearer_token="Zq-bearer"
http_headers={"X"="Zq-header", when = 1979-05-27 07:32:00}
[servers.pos] # Zq-behind
command="npx"
args=["-y", # Zq-inner
  "Zq-word",
  '--header', '''Zq-literal
Zq-second''']
env={MY_PW='Zq-pw', B=\"\"\"
Zq-multi
second\\" Zq\"\"\", PIN = 98765432}
[servers.joined.env]
A = "\\u005Aq Zq-escaped"
[servers."quo.ted"]
command = "npx"
when = 1979-05-27 07:32:00 # Zq-date
[[rows]]
x = "Zq-row"
[shell_environment_policy.set]
TOK = "Zq-shell"
"""
YAML = """\
# Zq-comment
before: &Zq-anchor Zq-before
again: *Zq-anchor
servers:
  pos:
    command: npx # Zq-behind
    args: [-y, Zq-word, --header, "X-Own: Zq-header"]
    env:
      PIN: 98765432
      A: |
        Zq-block
        Zq-second
      B: 'Zq-quoted
        Zq-folded'
  joined:
    command: npx
    args:
      - --token=Zq-joined
      - -c
after: Zq-after
"""
TEXTS: dict[Format, str] = {"jsonc": JSON, "toml": TOML, "yaml": YAML}


def a_difference(form: Format, text: str, taken_out: tuple[str, ...], **more: Any) -> str:
    place = Placed(host="x", path="x", target="x", form=form, servers=("servers",))
    return changed(place, text.encode(), {"switchboard": OURS}, taken_out, **more).difference()


@attack("T33")
@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("taken_out", [(), ("pos",), ("pos", "joined", "odd", "far", "shell")])
def test_no_value_of_a_file_is_in_its_difference(form: Format, taken_out: tuple[str, ...]) -> None:
    told = a_difference(form, TEXTS[form], taken_out)
    assert "Zq" not in told
    assert "98765432" not in told
    assert "07:32" not in told
    # What comes in is shown whole.
    for word in ("/opt/bin/switchboard", "mcp", "3600"):
        assert word in told
    if taken_out:
        assert "pos" in told
        assert "npx" in told
        assert "-y" in told
        assert "--header" in told


@attack("T33")
@pytest.mark.parametrize("form", TEXTS)
def test_a_shown_text_has_the_keys_and_the_lines_of_the_file(form: Format) -> None:
    text = TEXTS[form]
    told = shown_text(text, form, ("servers",), lambda _path, _value: False)
    assert told.count("\n") == text.count("\n")
    assert "Zq" not in told
    for key in ("servers", "pos", "command", "args", "env", "PIN"):
        assert key in told
    assert shown_text(text, form, ("servers",), lambda _path, _value: True).count("Zq") > 5


@attack("T33")
def test_what_cannot_be_taken_apart_is_hidden_whole() -> None:
    told = shown_text('a = "x"\nZq-key\nb = 1\n', "toml", ("servers",), lambda _path, _value: False)
    assert told == "•••\n•••\n•••\n"


@attack("T33")
def test_what_a_host_is_told_beside_our_entry_is_shown_and_no_more() -> None:
    text = '{\n "allow": [\n  "Zq-mine"\n ],\n "rules": {\n  "x": "Zq-rule"\n }\n}\n'
    granted = (
        Granted(keys=("allow",), value="mcp__switchboard"),
        Granted(keys=("rules",), value="ask", name="switchboard_*"),
    )
    told = a_difference("json", text, (), granted=granted)
    assert '"mcp__switchboard"' in told
    assert '"switchboard_*": "ask"' in told
    assert "Zq" not in told


TREES: Any = st.recursive(
    st.text(max_size=8).map("Zq{}".format) | st.integers(10**9, 10**12) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["command", "args", "env", "a", "servers"]), inner)
    ),
    max_leaves=12,
)


@attack("T33")
@given(st.dictionaries(st.sampled_from(["servers", "b"]), TREES), st.sampled_from([None, 1]))
def test_only_keys_and_programs_of_any_json_are_shown(tree: Any, indent: int | None) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=False)
    told = shown_text(text, "json", ("nowhere",), lambda _path, _value: False)
    assert "Zq" not in told
    assert not any(each.isdigit() for each in told)
    assert told.count("\n") == text.count("\n")
