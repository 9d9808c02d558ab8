"""What a client reads of a child's errors: a code, a reason, and never a secret or a path."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.nursery import arguments, nursery
from support.requirements import requirement
from switchboard.children.child import Child
from switchboard.children.redaction import Redaction
from switchboard.cli.report import ErrorReport
from switchboard.control.tools import Failure
from switchboard.core.events import ChildExited
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.excerpts import client_excerpt, server_words

SECRET = "hunter2-and-more"
ENTRY: Any = {"env": {"PASSWORD": "pa55word"}, "secret_env": {"API_KEY": "env:TOKEN"}}
ENVIRON = {"PATH": "/usr/bin:/bin", "TOKEN": SECRET}


def refusal(code: int, message: str) -> list[str]:
    return ['{"jsonrpc":"2.0","id":$id,"error":{"code":%d,"message":"%s"}}\n' % (code, message)]  # noqa: UP031


async def fault_of(child: Child, tool: str = "any") -> Fault:
    with pytest.raises(Fault) as caught:
        await child.call(tool, arguments())
    return caught.value


@requirement("S2.81")
@pytest.mark.parametrize(
    ("rpc_code", "code", "reason"),
    [
        (-32602, FaultCode.INVALID_ARGUMENT, "child-rejected"),
        (-32601, FaultCode.UNIMPLEMENTED, "child-lacks-tools"),
        (-32603, FaultCode.INTERNAL, "child-error"),
        (4711, FaultCode.INTERNAL, "child-error"),
    ],
)
async def test_an_error_answer_becomes_a_fault_that_names_the_child_and_keeps_its_words(
    rpc_code: int, code: FaultCode, reason: str, tmp_path: Path
) -> None:
    async with nursery(tmp_path) as some:
        child = some.scripted({"tools/call": refusal(rpc_code, "no such luck")}, name="fate")
        fault = await fault_of(child)
        assert (fault.code, fault.reason) == (code, reason)
        assert fault.message == "`fate` answered: no such luck"


@requirement("S2.85")
async def test_an_error_answer_is_passed_on_as_it_is_but_for_secrets(tmp_path: Path) -> None:
    """The path is a part of what the server says; without it the answer is a riddle."""
    words = f"{SECRET} and pa55word were refused in /home/me/project/file.py line 3"
    async with nursery(tmp_path, ENVIRON) as some:
        child = some.scripted({"tools/call": refusal(-32603, words)}, **ENTRY)
        fault = await fault_of(child)
        assert fault.message == (
            "`child` answered: [redacted] and [redacted] were refused in"
            " /home/me/project/file.py line 3"
        )


@requirement("S2.85")
async def test_a_child_that_prints_its_environment_and_dies_leaks_nothing(tmp_path: Path) -> None:
    """Neither to the client nor, through the events, into our log."""
    text = (
        "import os, sys\n"
        "sys.stdin.readline()\n"
        "for item in os.environ.items(): print(*item, file=sys.stderr)\n"
        "sys.stderr.flush()\n"
        "sys.exit(1)"
    )
    async with nursery(tmp_path, ENVIRON) as some:
        child = some.run(["/usr/bin/env", "python3", "-c", text], protocol="handshake", **ENTRY)
        fault = await fault_of(child)
        assert fault.reason == "child-exited"
        assert "API_KEY [redacted]" in fault.details["stderr"]
        seen = f"{fault.message}{fault.hint}{fault.details}{fault.private}{some.events.seen}"
        assert SECRET not in seen
        assert "pa55word" not in seen


@requirement("S2.85")
async def test_the_last_words_of_a_crash_reach_the_log_without_secrets(tmp_path: Path) -> None:
    text = (
        "import json, os, sys\n"
        "hello = {'protocolVersion': '2025-11-25', 'capabilities': {}}\n"
        "first = json.loads(sys.stdin.readline())\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': first['id'], 'result': hello}), flush=True)\n"
        "sys.stdin.readline(); sys.stdin.readline()\n"
        "sys.exit('could not log in with ' + os.environ['API_KEY'])\n"
    )
    async with nursery(tmp_path, ENVIRON) as some:
        child = some.run(["/usr/bin/env", "python3", "-c", text], protocol="handshake", **ENTRY)
        await fault_of(child)
        [exited] = await some.events.wait_for(ChildExited)
        assert exited.stderr_tail == "could not log in with [redacted]"


@given(
    st.text(),
    # No variable holds a NUL, and the test marks with it.
    st.frozensets(
        st.text(st.characters(exclude_characters="\0"), min_size=4, max_size=12), max_size=4
    ),
    st.lists(st.integers(min_value=0), max_size=4),
)
def test_no_excerpt_holds_a_secret_or_more_than_its_limit(
    text: str, secrets: frozenset[str], places: list[int]
) -> None:
    for place, secret in zip(places, sorted(secrets), strict=False):
        at = place % (len(text) + 1)
        text = f"{text[:at]}{secret}{text[at:]}"
    # A secret that is part of our own mark cannot be hidden by it.
    hidden = frozenset(secret for secret in secrets if secret not in "[redacted]")
    excerpt = client_excerpt(text * 3, Redaction(hidden))
    assert len(excerpt) <= 2_000
    for secret in hidden:
        assert secret not in excerpt.replace("[redacted]", "\0").replace("<path>", "\0")


def test_addresses_and_relative_paths_are_no_secret() -> None:
    words = "see https://example.org/a/b and src/main.py, not /etc/passwd or /srv/data/x.db"
    assert client_excerpt(words) == (
        "see https://example.org/a/b and src/main.py, not <path> or <path>"
    )


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("at file:///home/bob/app/index.js:10:3", "at <path>:10:3"),
        ("ENOENT:/home/bob/x/y", "ENOENT:<path>"),
        ("PATH=/usr/bin:/usr/local/bin", "PATH=<path>:<path>"),
        (
            "see https://example.com/a/b and ./src/app.js",
            "see https://example.com/a/b and ./src/app.js",
        ),
    ],
)
def test_no_absolute_path_of_a_childs_words_reaches_a_client(said: str, shown: str) -> None:
    assert client_excerpt(said) == shown


def test_what_is_too_long_loses_its_middle() -> None:
    text = "began with this" + "x" * 5_000 + "ended with that"
    for told in (server_words(text), client_excerpt(text)):
        assert told.startswith("began with this")
        assert told.endswith("ended with that")
        assert "[5030 characters, the middle is left out]" in told
        assert len(told) == 2_000


async def test_output_of_a_failed_start_keeps_its_paths_at_the_terminal_of_its_owner_only(
    tmp_path: Path,
) -> None:
    words = "Cannot find module '/srv/app/dist/index.js'"
    async with nursery(tmp_path) as some:
        child = some.run(["/usr/bin/env", "python3", "-c", f"import sys; sys.exit({words!r})"])
        fault = await fault_of(child)
        assert fault.details["stderr"] == "Cannot find module '<path>'"
        assert Failure.of(fault).details["stderr"] == words
        assert ErrorReport.of(fault).details["stderr"] == words


@requirement("S2.64")
async def test_an_error_that_is_null_beside_a_result_is_none(tmp_path: Path) -> None:
    answer = '{"jsonrpc":"2.0","id":$id,"error":null,"result":{"content":[]}}\n'
    async with nursery(tmp_path) as some:
        child = some.scripted({"tools/call": [answer]})
        assert bytes(await child.call("any", arguments())) == b'{"content":[]}'
