"""One reader of command lines for both programs, and one way to say what was meant."""

import pytest

from switchboard.cli.options import PROGRAM as BOARD
from switchkit.cli.columns import columns
from switchkit.cli.completion import completion_script
from switchkit.cli.explain import explanation, overview
from switchkit.cli.usage import SHELLS, Option, Program, Usage, UsageError, Word, read_arguments
from switchkit.suggest import did_you_mean, suggestion
from switchyard.cli.table import PROGRAM as YARD

HIDDEN = Option("secret", "not shown", "X", hidden=True)
USAGE = Usage(
    "run",
    "Run it.",
    words=(Word("KIND", "which", choices=("fast", "slow")),),
    options=(Option("name", "its name", "NAME", short="-n"), Option("dry", "only say"), HIDDEN),
)


@pytest.mark.parametrize("program", [BOARD, YARD], ids=["switchboard", "switchyard"])
def test_an_option_is_never_taken_for_the_value_of_another(program: Program) -> None:
    with pytest.raises(UsageError, match="`--name` needs a value"):
        read_arguments(program, USAGE, ["fast", "--name", "--dry"])
    assert read_arguments(program, USAGE, ["fast", "--name=--dry"]).one("name") == "--dry"
    assert read_arguments(program, USAGE, ["fast", "-n", "-1"]).one("name") == "-1"


@pytest.mark.parametrize("program", [BOARD, YARD], ids=["switchboard", "switchyard"])
def test_a_mistake_is_answered_with_what_was_meant(program: Program) -> None:
    with pytest.raises(UsageError) as unknown:
        read_arguments(program, USAGE, ["fast", "--nmae", "x"])
    assert unknown.value.message == f"`{program.name} run` has no option `--nmae`"
    assert unknown.value.hint == "did you mean `--name`?"
    with pytest.raises(UsageError) as missing:
        read_arguments(program, USAGE, [])
    assert missing.value.hint == f"{program.name} run --help"
    with pytest.raises(UsageError, match="`KIND` cannot be `fsat`"):
        read_arguments(program, USAGE, ["fsat"])


def test_help_and_completion_show_what_is_not_hidden() -> None:
    program = Program("tool", (Option("help", "show this", short="-h"),))
    told = "\n".join(explanation(program, USAGE))
    assert "usage: tool run fast|slow [OPTIONS]" in told
    assert "-n, --name NAME" in told
    for shell in SHELLS:
        script = completion_script(shell, program, [USAGE], aliases=("tl",))
        assert "name" in script
        assert "slow" in script
        assert "tl" in script
        told += script
    assert "secret" not in told
    shown = list(overview(program, "About.", {"Use": [("run", "Run it")]}))
    assert "  run  Run it" in shown


def test_paragraphs_of_help_fill_their_lines() -> None:
    """However the text is broken in the source."""
    details = f"{'word ' * 17}end\n{'more ' * 3}last.\n\nAnother one\nof two lines."
    told = list(explanation(Program("tool", ()), Usage("run", "Run it.", details=details)))
    assert "\n".join(told[3:9]) == (
        f"\n{' '.join(['word'] * 16)}\nword end more more more last.\n\nAnother one of two lines.\n"
    )


def test_cells_are_padded_and_cannot_repaint_a_terminal() -> None:
    rows = list(columns([("A", "B", "C"), ("long", "\x1b[2Jx", "7")], right=(2,)))
    assert rows == ["A     B         C", "long  \\x1b[2Jx  7"]
    assert list(columns([])) == []


def test_what_was_meant_is_near_and_habits_of_writing_do_not_count() -> None:
    assert did_you_mean("rpc-ms", ["rpcMs", "other"]) == "rpcMs"
    assert did_you_mean("prot", ["port", "host"]) == "port"
    assert did_you_mean("x", ["port"]) == ""
    # A word that was not typed to its end, where only one begins so.
    assert did_you_mean("stat", ["status", "start-all", "logs"]) == "status"
    assert did_you_mean("sta", ["status", "start"]) == ""
    assert suggestion("prot", ["port"]) == "did you mean `port`?"
    assert suggestion("zzz", ["b", "a"]) == "known: `a`, `b`"
    assert suggestion("zzz", []) == ""
    assert suggestion("zzz", [f"name{n:02}" for n in range(15)]).endswith("`name11` and 3 more")
