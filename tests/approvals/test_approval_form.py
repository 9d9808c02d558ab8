"""The form that a host shows for a question, and what each reply to it means."""

import json
from typing import Any

import pytest
from msgspec import Raw

from approvals.asker_contract import a_question
from support.requirements import requirement
from switchboard.core.questions import HOST_SESSION, Extent
from switchboard.core.sessions import Session
from switchboard.surface.asking.approval_form import ApprovalForm

CLAUDE, CODEX, OTHER = "claude-code 2.1.325", "codex-mcp-client 0.166.0", "a client 1.0"
ALL: tuple[Extent, ...] = ("once", "session", "always")


def form(client: str, offers: tuple[Extent, ...] = ALL, **more: Any) -> ApprovalForm:
    session = Session(id="s", via="stdio", workspace="/w", client=client)
    return ApprovalForm(a_question(offers=offers, **more), session)


def choices(shown: ApprovalForm) -> dict[str, dict[str, str]]:
    """Give the labels of each choice of a form, by the value."""
    properties = shown.params()["requestedSchema"]["properties"]
    return {
        name: {each["const"]: each["title"] for each in choice["oneOf"]}
        for name, choice in properties.items()
    }


def reply(action: str, **content: Any) -> Raw:
    return Raw(json.dumps({"action": action, "content": content}).encode())


@pytest.mark.parametrize("client", [CLAUDE, CODEX, OTHER])
def test_no_label_of_a_yes_can_be_read_as_a_no(client: str) -> None:
    for labels in choices(form(client)).values():
        for value, label in labels.items():
            words = label.lower().replace(",", "").split()
            assert bool({"no", "not", "never", "none"} & set(words)) == (value == "no"), label


@pytest.mark.parametrize("offers", [("once",), ("once", "session"), ALL])
def test_where_a_no_has_a_button_the_form_asks_only_for_how_long(
    offers: tuple[Extent, ...],
) -> None:
    shown = choices(form(CLAUDE, offers))
    assert {name: list(values) for name, values in shown.items()} == (
        {} if len(offers) == 1 else {"remember": list(offers)}
    )


@requirement("S3.26")
@pytest.mark.parametrize("offers", [("once",), ("once", "session"), ALL])
def test_where_a_no_has_no_button_it_is_the_first_choice(offers: tuple[Extent, ...]) -> None:
    # Codex submits it when somebody presses Enter without a thought.
    assert {name: list(values) for name, values in choices(form(CODEX, offers)).items()} == {
        "run": ["no", *offers]
    }


@requirement("S3.26", "S3.34")
@pytest.mark.parametrize(
    ("client", "said", "verdict", "extent"),
    [
        (CLAUDE, reply("accept"), "approved", "once"),
        (CLAUDE, reply("accept", remember="session"), "approved", "session"),
        (CLAUDE, reply("accept", run="once"), "denied", "once"),
        (CLAUDE, reply("decline"), "denied", "once"),
        (CLAUDE, reply("cancel"), "cancelled", "once"),
        (CODEX, reply("accept", run="once"), "approved", "once"),
        (CODEX, reply("accept", run="always"), "approved", "always"),
        (CODEX, reply("accept", run="no"), "denied", "once"),
        # Backspace takes the choice back, and Enter still submits the form.
        (CODEX, reply("accept"), "denied", "once"),
        (CODEX, reply("accept", remember="session"), "denied", "once"),
        (CODEX, reply("accept", run="once", more=1), "denied", "once"),
        (CODEX, reply("decline"), "denied", "once"),
        (CODEX, reply("cancel"), "cancelled", "once"),
        (CODEX, Raw(b"7"), "denied", "once"),
    ],
)
def test_a_reply_means_what_its_host_showed(
    client: str, said: Raw, verdict: str, extent: str
) -> None:
    decided = form(client).read(said)
    assert (decided.verdict, decided.extent) == (verdict, extent)


@pytest.mark.parametrize("client", [CLAUDE, CODEX])
def test_a_host_that_is_asked_about_is_not_called_a_tool(client: str) -> None:
    shown = form(client, ("once", "always"), session=f"{HOST_SESSION}notes", exactly="x.example")
    [labels] = choices(shown).values()
    assert set(labels) >= {"once", "always"}
    assert not any("tool" in label or "un it" in label for label in labels.values())
