"""A warm `call` loads no command line, and nobody can tell but by the time that it takes."""

import asyncio
import os
import re
import signal
import subprocess
import sys

import msgspec
import pytest

from cli.commands import Finished, switchboard
from support.daemons import daemon_pid, under_way
from support.measuring import unmeasured
from support.processes import until_true
from support.workspace import Workspace, child_command
from switchboard.cli.options import PROGRAM
from switchboard.cli.printer import Printer
from switchboard.cli.verbs.calling.call import USAGE, report_of, request_of
from switchboard.control.requests import read_request
from switchboard.control.tools import CallAnswer
from switchboard.shim.flags import read_call
from switchboard.shim.plain_answer import shown
from switchboard.shim.quick_call import request_line
from switchkit.cli.usage import read_arguments, split_verb

# Everything that is loaded beside the standard library.
SHIM = {"switchboard", "switchkit"}
PATIENCE = 20.0
_CALL_ID = re.compile(r'("?call_id"?: )"?[\w-]+"?')


@pytest.mark.parametrize(
    "words",
    [
        ("call", "calc", "add", "a=1", "b=2"),
        ("call", "calc", "add", "numbers:=[1, 2]", "text=ü 😀 \u2028 \"'"),
        ("call", "search", "pattern=a=b"),
        ("call", "search"),
        ("call", "calc", "add", "--args", '{"a": 1.50, "b": [null, true, "x\\"\\\\"]}'),
        ("call", "calc", "--args={}", "add"),
        ("--json", "call", "calc", "add", "--account", "work", "--account=home"),
        ("-C", "elsewhere", "call", "calc", "add", "--config=x.json", "--home", "h", "--skill=s"),
        ("call", "call", "call"),
    ],
)
def test_the_request_is_the_one_that_the_command_line_makes(words: tuple[str, ...]) -> None:
    quick = read_call(list(words))
    assert quick is not None
    line = request_line(quick, asks=False)
    assert line is not None
    _, others = split_verb(PROGRAM, words)
    arguments = read_arguments(PROGRAM, USAGE, others)
    assert read_request(line) == request_of(arguments)
    assert quick.as_json == arguments.has("json")
    for option in ("workspace", "config", "home", "skill"):
        assert quick.flags.get(option) == arguments.one(option)


@pytest.mark.parametrize(
    "words",
    [
        ("call",),
        ("list", "call"),
        ("call", "a", "--help"),
        ("call", "a", "-h"),
        ("call", "a", "b", "c"),
        ("call", "a", "--args"),
        ("call", "a", "--args", "--json"),
        ("call", "a", "--args", "@file"),
        ("call", "a", "--in-process"),
        ("call", "a", "--jsno"),
        ("call", "a", "--json=yes"),
        ("call", "a", "b", "--", "x=1"),
        ("call", "a", "b", "x=\udc80"),
    ],
)
def test_what_is_unusual_is_left_to_the_command_line(words: tuple[str, ...]) -> None:
    assert read_call(list(words)) is None


@pytest.mark.parametrize(
    "args",
    [
        *("-", "", "[1]", "{", "{}}", '{"a":1,}', '{"a":01}', '{"a":NaN}', '{"a":1e999}'),
        *('{"a":"\\ud800"}', '{"a":"\t"}', '{"a" 1}', "{1:2}", '{"a":-Infinity}', '{"a":1} 2'),
        # It would end the line of the request.
        '{"a":\n1}',
    ],
)
def test_arguments_that_only_some_readers_take_are_left_to_the_command_line(args: str) -> None:
    quick = read_call(["call", "a", "b", f"--args={args}"])
    assert quick is None or request_line(quick, asks=False) is None


RESULTS = [
    '{"content":[{"type":"text","text":"one"},{"type":"text","text":"two\\nlines ü😀"}]}',
    '{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":[1,2.50,{}],"b":[]}}',
    '{ "content" : [ ] , "structuredContent":{"n":12345678901234567890,"f":1e-7,"s":"\\u00e9"}}',
    '{"content":[],"isError":false}',
    '{"content":[{"type":"text","text":"","annotations":{"priority":1}}],"_meta":{"a/b":null}}',
    '{"structuredContent":"plain"}',
    "{}",
]
ODD_RESULTS = [
    '{"content":[{"type":"text","text":"no"}],"isError":true}',
    '{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}',
    '{"content":[{"type":"text","text":5}]}',
    '{"content":null}',
    '{"content":[{"text":"of no type"}]}',
    '{"content":[{"type":"text","text":"\\ud83d\\ude00"}]}',
    "null",
    "[]",
]


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("result", [*RESULTS, *ODD_RESULTS])
def test_an_answer_is_shown_byte_for_byte_as_the_command_line_shows_it(
    result: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = CallAnswer(suite="ä_suite", tool="t", result=msgspec.Raw(result.encode()), call_id="c")
    code = Printer({}, as_json=as_json).show(report_of(answer))
    told = capsys.readouterr()
    text = shown(msgspec.json.encode(answer).decode(), as_json=as_json, is_terminal=False)
    if result in ODD_RESULTS:
        assert text is None
    else:
        assert (text, "", 0) == (told.out, told.err, code)


@pytest.mark.parametrize("text", ["\x1b[2J", "a\rb", "\u202eabc", "\x07"])
def test_what_could_steer_a_terminal_is_not_shown_as_it_is(text: str) -> None:
    result = msgspec.json.encode({"content": [{"type": "text", "text": text}]})
    answer = CallAnswer(suite="s", tool="t", result=msgspec.Raw(result), call_id="c")
    line = msgspec.json.encode(answer).decode()
    assert shown(line, as_json=False, is_terminal=True) is None
    assert shown(line, as_json=False, is_terminal=False) == f"{text}\n"


def test_an_answer_with_more_in_it_is_left_to_the_command_line() -> None:
    line = '{"suite":"s","tool":"t","result":{"content":[]},"call_id":"c","cost":3}'
    assert shown(line, as_json=True, is_terminal=False) is None


def loaded(workspace: Workspace, *words: str) -> tuple[set[str], str]:
    """Give the modules that a command has loaded when it ends, and what it printed."""
    program = (
        "import sys\n"
        "from switchboard.entry import main\n"
        f"code = main({list(words)!r})\n"
        "sys.stderr.write('\\n'.join(('', str(code), *sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=unmeasured(workspace.env),
        cwd=workspace.root,
        check=True,
    )
    return set(done.stderr.split()), done.stdout


def is_ours(name: str) -> bool:
    return name.partition(".")[0] in SHIM


def test_a_warm_call_loads_the_shim_alone(workspace: Workspace) -> None:
    switchboard(workspace, "call", "echo", "echo", "text=warm")
    bare = loaded(workspace, "version")[0]
    for words in ((), ("--json",)):
        modules, out = loaded(workspace, "call", "echo", "echo", "text=x", *words)
        assert "echo: x" in out
        packages = {".".join(name.split(".")[:2]) for name in modules if is_ours(name)}
        assert packages <= {
            *("switchboard", "switchboard.entry", "switchboard.ipc", "switchboard.shim"),
            *("switchkit", "switchkit.files", "switchkit.sockets", "switchkit.platform"),
        }
        heavy = {"msgspec", "json", "typing", "contextlib", "socket", "asyncio", "subprocess"}
        assert modules & heavy == set()
    assert "msgspec" in bare


@pytest.mark.parametrize(
    "words",
    [
        ("echo", "echo", "text=ü 😀"),
        ("echo", "add", "a=1", "b=2.50"),
        ("echo", "fail", "why=no"),
        ("echo", "refuse"),
        ("echo", "picture"),
        ("echo", "nothing"),
        ("ehco", "echo"),
        ("echo", "echo", "txet=x"),
        ("echo", "add", "a=x"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_both_ways_say_the_same_and_end_alike(
    workspace: Workspace, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    switchboard(workspace, "call", "echo", "echo", "text=warm")
    name, *others = words
    quick = switchboard(workspace, "call", name, *others, *more)
    # What follows `--` is for the command line alone.
    whole = switchboard(workspace, "call", name, *more, "--", *others)
    assert without_ids(quick) == without_ids(whole)


def without_ids(done: Finished) -> Finished:
    return Finished(done.code, _CALL_ID.sub(r"\1…", done.out), _CALL_ID.sub(r"\1…", done.err))


def test_what_the_command_line_goes_on_with_is_not_asked_again(workspace: Workspace) -> None:
    ledger = workspace.root / "ledger.txt"
    workspace.child("ledger", child_command("ledger_child", str(ledger)))
    # The child writes this as halves of a character, which the shim leaves alone.
    modules, out = loaded(workspace, "call", "ledger", "write", "text=😀")
    assert "msgspec" in modules
    modules, out = loaded(workspace, "call", "ledger", "write", "text=😀")
    assert ("msgspec" in modules, out) == (True, "written: 😀\n")
    assert ledger.read_text("utf-8") == "😀\n😀\n"


async def test_the_end_of_the_daemon_under_a_call_is_told(workspace: Workspace) -> None:
    switchboard(workspace, "call", "echo", "echo", "text=warm")
    process = await asyncio.create_subprocess_exec(
        *workspace.command("call", "echo", "stall"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    await until_true(lambda: under_way(workspace) == 1)
    daemon = daemon_pid(workspace)
    os.kill(daemon, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err.decode().startswith(f"error: the daemon (process {daemon}) has ended\n")


def test_who_reads_no_further_is_no_failure_to_speak_of(workspace: Workspace) -> None:
    switchboard(workspace, "call", "echo", "echo", "text=warm")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        workspace.command("call", "echo", "echo", "text=x"),
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
