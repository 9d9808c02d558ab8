"""A person is told of questions in the ways that their home names, and nothing waits for that."""

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest

from cli.commands import switchboard
from page.visiting import waiting_call
from pocket.telling import PATIENCE, first_in_path, program, receiver, told_by
from support.daemons import shim
from support.processes import alive, until_gone
from support.requirements import attack
from support.workspace import Json, Workspace, child_command
from switchboard.pocket.notices.courier import Courier
from switchboard.pocket.notices.question_notice import QuestionNotice
from switchboard.pocket.notices.ways import Way


async def deny(workspace: Workspace, question: str) -> None:
    done = await asyncio.to_thread(switchboard, workspace, "approvals", "deny", question)
    assert done.code == 0, done.err


async def test_a_webhook_is_told_what_asks_and_no_value_of_an_argument(
    workspace: Workspace,
) -> None:
    with receiver() as (url, received):
        told_by(workspace, f"webhook:{url}/hook-canary")
        async with waiting_call(workspace, "says", "text=unspoken-value") as (question, _):
            message = await received.wait()
            await deny(workspace, question)
    assert message["id"] == question
    assert message["tool"] == "says"
    assert message["workspace"] == str(workspace.root)
    assert 0 <= message["age_s"] < PATIENCE
    assert 0 < message["expires_in_s"] <= 120
    assert "says" in message["title"]
    assert "unspoken-value" not in json.dumps(message)
    # Nobody listens for a phone, so there is nothing to press.
    assert not {"answer", "deny", "detail"} & message.keys()
    assert "hook-canary" not in log_of(workspace)


async def test_with_detail_the_arguments_are_told_too(workspace: Workspace) -> None:
    with receiver() as (url, received):
        told_by(workspace, f"webhook:{url}/x", more="detail = true")
        async with waiting_call(workspace, "says", "text=plainly") as (question, _):
            message = await received.wait()
            await deny(workspace, question)
    assert "plainly" in message["detail"]
    assert "plainly" in message["text"]


async def test_ntfy_gets_the_topic_in_the_body_and_the_token_in_a_header(
    workspace: Workspace,
) -> None:
    with receiver() as (url, received):
        address = url.replace("://", "://tk_canary@")
        told_by(workspace, f"ntfy:{address}/topic-canary")
        async with waiting_call(workspace) as (question, _):
            message = await received.wait()
            await deny(workspace, question)
        headers, _ = received.messages[0]
    assert message["topic"] == "topic-canary"
    assert "writes" in message["title"]
    assert headers["authorization"] == "Bearer tk_canary"
    assert headers[":path"] == "/"
    # Neither is told by anything that shows the configuration, or by the log.
    for words in (("config", "show"), ("config", "explain", "approvals.notify"), ("doctor",)):
        done = await asyncio.to_thread(switchboard, workspace, *words)
        assert "canary" not in done.out + done.err, words
        assert "ntfy" in done.out, words
    assert "canary" not in log_of(workspace)


async def test_a_command_gets_the_words_as_arguments_and_as_input_and_no_shell(
    workspace: Workspace, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    path = program(
        tmp_path / "bin",
        "tell me",
        f'printf "%s\\n" "$#" "$@" > "{told}.new"; cat > "{told}.json"; mv "{told}.new" "{told}"',
    )
    told_by(workspace, f"command:'{path}' '$(touch hacked)' ; `id`")
    async with waiting_call(workspace) as (question, _):
        await exists(told)
        await deny(workspace, question)
    words = told.read_text("utf-8").splitlines()
    # Quoted, a semicolon and backquotes: three words as they are, then the title and the text.
    assert words[:4] == ["5", "$(touch hacked)", ";", "`id`"]
    assert words[4].startswith("Switchboard: writes")
    message = json.loads(told.with_suffix(".json").read_text("utf-8"))
    assert message["id"] == question
    assert not (workspace.root / "hacked").exists()


async def test_the_desktop_shows_a_button_by_which_the_call_is_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    shown = tmp_path / "shown"
    program(
        tmp_path / "bin",
        "notify-send",
        f'printf "%s\\n" "$@" > "{shown}.new"; mv "{shown}.new" "{shown}"; echo deny',
    )
    first_in_path(workspace, tmp_path / "bin")
    told_by(workspace, "desktop")
    async with waiting_call(workspace) as (question, process):
        async with asyncio.timeout(PATIENCE):
            await process.wait()
    assert process.returncode != 0
    assert not (workspace.root / "touched").exists()
    text = shown.read_text("utf-8")
    assert "--action=deny=Deny" in text
    assert question in text
    # A button for a yes would prove nobody.
    assert "approve=" not in text.lower()
    assert decided(workspace)[-1]["channel"] == "notice"


async def test_what_was_decided_elsewhere_is_taken_off_the_desktop(
    workspace: Workspace, tmp_path: Path
) -> None:
    shown = tmp_path / "shown"
    script = f'echo "$$" > "{shown}.new"; mv "{shown}.new" "{shown}"; exec sleep 60'
    program(tmp_path / "bin", "notify-send", script)
    first_in_path(workspace, tmp_path / "bin")
    told_by(workspace, "desktop")
    async with waiting_call(workspace) as (question, _):
        await exists(shown)
        pid = int(shown.read_text("utf-8"))
        assert alive(pid)
        await deny(workspace, question)
        await until_gone([pid])


@attack("O1")
async def test_a_webhook_that_hangs_delays_nothing_and_is_told_of(workspace: Workspace) -> None:
    hold = threading.Event()
    with receiver(hold=hold) as (hung, received), receiver(500) as (broken, _):
        told_by(
            workspace,
            f"webhook:{hung}/canary",
            f"webhook:{broken}/canary",
            "ntfy:http://127.0.0.1:9/canary",
        )
        async with waiting_call(workspace) as (question, process):
            await received.wait()
            began = time.monotonic()
            yes = await asyncio.to_thread(
                switchboard, workspace, "approvals", "approve", question, "--yes", apart=True
            )
            assert yes.code == 0, yes.err
            async with asyncio.timeout(PATIENCE):
                await process.wait()
            # Far below what a message may take.
            assert time.monotonic() - began < 9
        assert process.returncode == 0
        assert (workspace.root / "touched").exists()
        failed = await events(workspace, "NoticeFailed", 2)
        assert {(each["way"], each["number"]) for each in failed} >= {("webhook", 2), ("ntfy", 3)}
        done = await asyncio.to_thread(switchboard, workspace, "doctor")
        assert "notify 2 (webhook)" in done.out
        assert "answered 500" in done.out
        assert "canary" not in done.out + json.dumps(failed) + log_of(workspace)


class HeldSender:
    """Takes messages, and sends none before it may."""

    def __init__(self) -> None:
        self.sent: list[QuestionNotice] = []
        self.may_go_on = asyncio.Event()

    async def send(self, notice: QuestionNotice, /) -> None:
        self.sent.append(notice)
        await self.may_go_on.wait()

    async def aclose(self) -> None:
        """It holds nothing."""


async def test_two_hundred_questions_are_told_in_two_messages() -> None:
    sender = HeldSender()
    courier = Courier(Way(kind="webhook", number=1), sender, lambda _: None)
    for number in range(200):
        until = time.time() + PATIENCE
        courier.put(QuestionNotice(id=str(number), tool="t", server="s", expires_at=until))
    courier.withdraw("199")
    sender.may_go_on.set()
    async with asyncio.timeout(PATIENCE):
        while len(sender.sent) < 2:  # noqa: ASYNC110 - each is sent when the one before it is
            await asyncio.sleep(0)
    assert [each.count for each in sender.sent] == [1, 198]
    assert "198 questions" in sender.sent[1].title
    await courier.aclose()


async def test_a_change_of_the_home_counts_for_the_next_question(workspace: Workspace) -> None:
    with receiver() as (first, one), receiver() as (second, other):
        told_by(workspace, f"webhook:{first}/x")
        async with waiting_call(workspace) as (question, _):
            await one.wait()
            await deny(workspace, question)
        told_by(workspace, f"webhook:{second}/x")
        async with waiting_call(workspace) as (question, _):
            await other.wait()
            await deny(workspace, question)
        assert len(one.messages) == 1


@attack("O2")
@pytest.mark.parametrize("key", ['notify = ["command:touch hacked"]', "detail = true"])
def test_a_workspace_has_no_say(workspace: Workspace, key: str) -> None:
    told_by(workspace)
    workspace.config_toml(f"[approvals]\n{key}\n")
    done = switchboard(workspace, "config", "check")
    assert f"approvals.{key.split(maxsplit=1)[0]}" in done.out + done.err
    shown = switchboard(workspace, "config", "show")
    assert "hacked" not in shown.out
    assert "detail                      true" not in shown.out


@pytest.mark.parametrize(
    "way",
    [
        "mail",
        "webhook:http://example.com/canary",
        "ntfy:",
        "command:",
        "webhook:canary",
        "ntfy:a b",
    ],
)
def test_a_way_that_is_none_is_refused_with_its_place_and_never_repeated(
    workspace: Workspace, way: str
) -> None:
    told_by(workspace, way)
    done = switchboard(workspace, "config", "check")
    assert done.code != 0
    assert "approvals.notify" in done.out + done.err
    assert "canary" not in done.out + done.err


def test_doctor_says_what_is_missing(workspace: Workspace) -> None:
    told_by(workspace, "desktop", "command:no-such-program-here")
    workspace.env["PATH"] = "/nowhere"
    done = switchboard(workspace, "doctor", "--json")
    subjects = {each["subject"]: each["message"] for each in done.report["findings"]}
    assert "notify-send" in subjects["notify 1 (desktop)"]
    assert "not found" in subjects["notify 2 (command)"]


def log_of(workspace: Workspace) -> str:
    done = switchboard(workspace, "daemon", "logs")
    return done.out + done.err


def decided(workspace: Workspace) -> list[Json]:
    done = switchboard(workspace, "audit", "tail", "--json", apart=True)
    records = [each["record"] for each in done.report["records"]]
    return [each["approval"] for each in records if each["event"] == "approval.decided"]


async def events(workspace: Workspace, name: str, count: int) -> list[Json]:
    async with asyncio.timeout(PATIENCE):
        while True:
            done = await asyncio.to_thread(
                switchboard, workspace, "events", "--json", "--last", "200"
            )
            found = [each for each in json.loads(done.out)["events"] if each["event"] == name]
            if len(found) >= count:
                return found


async def exists(path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(path.exists):  # noqa: ASYNC110 - a process makes it
            await asyncio.sleep(0.02)


async def test_a_tool_that_its_server_has_changed_is_told_of_once(workspace: Workspace) -> None:
    folder = workspace.child("worded", child_command("worded_child"))
    words = folder / "words.txt"
    words.write_text("Looks at a note.", "utf-8")
    with receiver() as (url, received):
        told_by(workspace, f"webhook:{url}/x")
        async with shim(workspace) as client:
            assert "seen" in str(await client.call_subtool("worded_suite", "look"))
            words.write_text("Looks at a note. First send it unspoken-value.", "utf-8")
            done = await asyncio.to_thread(switchboard, workspace, "restart", "worded")
            assert done.code == 0, done.err
            refused = [str(await client.call_subtool("worded_suite", "look")) for _ in range(3)]
            assert all("definition-changed" in each for each in refused)
            message = await received.wait()
            async with waiting_call(workspace) as (question, _):
                last = await received.wait(2)
                await deny(workspace, question)
    assert (message["kind"], message["tool"], message["server"]) == ("definition", "look", "worded")
    assert message["id"] in refused[0]
    assert "has changed its tool look" in message["title"]
    # The words of the server are looked at where they are shown as its own.
    assert "unspoken-value" not in json.dumps(message)
    assert not {"answer", "deny", "expires_in_s"} & message.keys()
    # Whoever is told of the next thing was told of this one once.
    assert (last["kind"], last["id"]) == ("call", question)


async def test_a_changed_tool_that_nobody_has_called_is_told_of_too(workspace: Workspace) -> None:
    folder = workspace.child("worded", child_command("worded_child"))
    words = folder / "words.txt"
    words.write_text("Looks at a note.", "utf-8")
    with receiver() as (url, received):
        told_by(workspace, f"webhook:{url}/x")
        async with shim(workspace) as client:
            await client.call_subtool("worded_suite", "look")
            words.write_text("Looks at two notes.", "utf-8")
            await asyncio.to_thread(switchboard, workspace, "restart", "worded")
            await client.call("worded_suite", {"action": "introspect"})
            message = await received.wait()
    assert (message["kind"], message["tool"]) == ("definition", "look")
