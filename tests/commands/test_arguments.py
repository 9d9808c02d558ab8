"""Arguments of a call on a command line: each a part of one item, and never of a shell."""

import json
from typing import Any

import pytest

from commands.bench import Bench, json_of, text_of
from support.requirements import attack, requirement
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.text.strict import Number
from switchboard.providers.commands.templates import fill, names_in

ECHO = "import json, sys; print(json.dumps([sys.argv[1:], json.load(sys.stdin)]))"


def filled(*items: str, **arguments: Any) -> tuple[str, ...]:
    return fill(items, arguments, lambda text: text.replace("${V}", "{value}"))


def test_an_argument_takes_the_place_of_its_name() -> None:
    assert filled("a", "{x}", "--y={y}", "{x}:{y}", x="1 2", y="3") == (
        "a",
        "1 2",
        "--y=3",
        "1 2:3",
    )


def test_an_item_without_its_argument_is_left_out() -> None:
    assert filled("a", "{x}", "--y={y}", "{x}{y}", x=None) == ("a",)
    assert names_in(("{a}", "x{b-c}y", "{{d}}", "${E}", "{1}")) == {"a", "b-c"}


def test_numbers_keep_their_digits_and_the_rest_is_json() -> None:
    values: dict[str, Any] = {
        "n": Number("1.50"),
        "t": True,
        "l": ["a", Number("1")],
        "o": {"b": None},
    }
    assert filled("{n}", "{t}", "{l}", "{o}", **values) == ("1.50", "true", '["a",1]', '{"b":null}')


def test_braces_that_are_no_place_stay_and_values_are_not_filled_again() -> None:
    items = ("{{x}}", '{"a": {"b": 1}}', "${V}", "{ x }", "{x}")
    assert filled(*items, x="{x}${V}", value="never") == (
        "{x}",
        '{"a": {"b": 1}}',
        "{value}",
        "{ x }",
        "{x}${V}",
    )


@pytest.mark.parametrize("value", ["-rf", "--output=/etc/passwd", "-"])
@attack("B28")
def test_an_argument_cannot_become_an_option(value: str) -> None:
    with pytest.raises(Fault) as caught:
        filled("{x}", x=value)
    assert (caught.value.code, caught.value.reason) == (
        FaultCode.INVALID_ARGUMENT,
        "argument-refused",
    )
    assert filled("--name={x}", x=value) == (f"--name={value}",)
    assert filled("--", "{x}", x=value) == ("--", value)
    assert filled("{x}", x=Number("-1")) == ("-1",)


def test_a_nul_is_refused() -> None:
    with pytest.raises(Fault) as caught:
        filled("{x}", x="a\0b")
    assert "NUL" in caught.value.message


NASTY = [
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "a && touch pwned",
    "| touch pwned",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "line\ntouch pwned\n",
    "${HOME}",
    "%s%n",
    "*",
    "é 🐙 \u202e",
    "",
]


@pytest.mark.parametrize("value", NASTY)
async def test_nothing_in_an_argument_is_understood_on_the_way(bench: Bench, value: str) -> None:
    bench.python("echo", ECHO, "{x}", "--y={x}", "{missing}")
    arguments = {"x": value, "z": [1, {"deep": value}]}
    assert json_of(await bench.call("echo", arguments)) == [[value, f"--y={value}"], arguments]
    assert list(bench.root.glob("*pwned*")) == []


@requirement("S3.74")
async def test_the_whole_arguments_come_on_stdin_and_stdin_ends(bench: Bench) -> None:
    bench.python("echo", "import sys; print(sys.stdin.read() + '|')")
    written = b'{"a": 1.0,  "b": [true, null]}'
    outcome = await bench.call("echo", written)
    assert text_of(outcome) == written.decode() + "|\n"


async def test_a_tool_need_not_read_its_arguments(bench: Bench) -> None:
    bench.write("true", ["true"])
    outcome = await bench.call("true", {"x": "y" * 1_000_000})
    assert not outcome.is_error


@pytest.mark.parametrize("raw", [b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"\\ud800": 1}'])
async def test_arguments_with_two_readings_are_refused(bench: Bench, raw: bytes) -> None:
    bench.python("echo", ECHO)
    assert (await bench.refused("echo", raw)).code is FaultCode.INVALID_ARGUMENT


@requirement("S3.10", "S3.120")
async def test_the_schema_is_shown_as_it_is_written_and_holds(bench: Bench) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "x-extra": [1, "two"]}},
        "required": ["n"],
    }
    bench.python("echo", ECHO, "{n}", input_schema=schema)
    assert json.loads(bytes(bench.specs()["echo"].input_schema)) == schema
    assert json_of(await bench.call("echo", {"n": 5}))[0] == ["5"]
    fault = await bench.refused("echo", {"n": "5"})
    assert fault.code is FaultCode.INVALID_ARGUMENT
