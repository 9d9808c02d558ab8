"""Each thing that an agent may set reaches Codex where Codex has a place for it, and no more."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import structs

from engines.codex_stage import codex_stage
from engines.contract import ended, heard
from support.models.script import say
from support.requirements import requirement
from support.workspace import CHECKOUT
from switchboard.engines.codex.mapping import EFFORTS, RULES, lacking, table
from switchboard.engines.codex.opening import opening_of
from switchboard.engines.events import FailureKind, TurnFailure
from switchboard.engines.failures import sentence
from switchboard.engines.profile import AgentProfile, EngineSpec, RunFields

GIVEN: dict[str, tuple[Any, str, Any]] = {
    "model": ("gpt-x", "model", "gpt-x"),
    "model_provider": ("mine", "modelProvider", "mine"),
    "approval_policy": ("on-failure", "approvalPolicy", "on-request"),
    "model_reasoning_effort": ("high", "config.model_reasoning_effort", "high"),
    "model_reasoning_summary": ("concise", "config.model_reasoning_summary", "concise"),
    "model_verbosity": ("low", "config.model_verbosity", "low"),
    "chatgpt_base_url": ("http://x", "config.chatgpt_base_url", "http://x"),
    "sandbox_mode": ("read-only", "sandbox", "read-only"),
    "include_plan_tool": (True, "config.tools.update_plan.enabled", True),
    "include_view_image_tool": (False, "config.features.view_image", False),
    "tools_web_search_request": (True, "config.web_search", "live"),
}
GONE = {"disable_response_storage": True, "include_apply_patch_tool": True}


def flat(opening: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with the keys of the configuration beside them."""
    config = opening.pop("config")
    return {**opening, **{f"config.{key}": value for key, value in config.items()}}


def opened(tmp_path: Path, **fields: Any) -> dict[str, Any]:
    profile = AgentProfile(name="t", fields=RunFields(**fields))
    spec = EngineSpec(profile=profile, cwd=str(tmp_path), env={}, folder=str(tmp_path))
    return flat(opening_of(spec, ""))


def test_every_field_of_run_has_its_row() -> None:
    assert [rule.field for rule in RULES] == [field.name for field in structs.fields(RunFields)]
    assert {*GIVEN, *GONE} == {rule.field for rule in RULES}


@requirement("S0.12", "S0.14", "S0.15", "S0.46", "S0.51", "S0.52", "S0.117")
def test_what_is_not_set_gets_no_key_at_all(tmp_path: Path) -> None:
    ours = {"cwd", "experimentalRawEvents", "config.projects"}
    assert set(opened(tmp_path)) == ours


@requirement(*(f"S0.{n}" for n in (33, 34, 35, 37, 38, 39, 40, 41, 42, 44, 45, 50)))
@pytest.mark.parametrize("field", GIVEN)
def test_what_is_set_is_told_where_codex_looks_for_it(tmp_path: Path, field: str) -> None:
    value, place, told = GIVEN[field]
    before, after = opened(tmp_path), opened(tmp_path, **{field: value})
    assert after.pop(place) == told
    assert after == before
    assert after["cwd"] == str(tmp_path)


@pytest.mark.parametrize("field", GONE)
def test_what_codex_has_no_more_is_said_and_not_told(tmp_path: Path, field: str) -> None:
    assert opened(tmp_path, **{field: GONE[field]}) == opened(tmp_path)
    given: dict[str, Any] = {field: GONE[field]}
    said = lacking(AgentProfile(name="t", fields=RunFields(**given)))
    assert len(said) == 1
    assert f"`{field}`" in said[0]


def test_an_effort_that_no_model_has_is_said_and_not_told(tmp_path: Path) -> None:
    assert opened(tmp_path, model_reasoning_effort="bogus") == opened(tmp_path)
    profile = AgentProfile(name="t", fields=RunFields(model_reasoning_effort="bogus"))
    assert len(lacking(profile)) == 1
    for effort in EFFORTS:
        fine = AgentProfile(name="t", fields=RunFields(model_reasoning_effort=effort))
        assert lacking(fine) == ()


async def test_the_real_codex_takes_every_one_of_them_and_shows_it_to_the_model(
    tmp_path: Path,
) -> None:
    fields = RunFields(
        model="mock-model",
        approval_policy="untrusted",
        model_reasoning_effort="high",
        model_reasoning_summary="concise",
        model_verbosity="low",
        chatgpt_base_url="http://127.0.0.1:9/",
        sandbox_mode="read-only",
        include_plan_tool=True,
        include_view_image_tool=False,
        tools_web_search_request=False,
    )
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        config: dict[str, object] = {"features.shell_tool": False}
        for profile in (
            AgentProfile(name="t"),
            AgentProfile(name="t", fields=fields, config=config),
        ):
            conversation = stage.converse(profile=profile)
            assert ended(await heard(conversation)).text == "all done"
            await conversation.aclose()
        plain, told = (request.body for request in stage.model.requests)
    names = [{tool.get("name") or tool["type"] for tool in body["tools"]} for body in (plain, told)]
    assert names[1] - names[0] == {"update_plan"}
    assert names[0] - names[1] == {"view_image", "web_search", "exec_command", "write_stdin"}
    assert told["reasoning"]["effort"] == "high"
    assert "read-only" in json.dumps(told["input"])


def test_the_page_has_the_table_of_the_code() -> None:
    page = (CHECKOUT / "docs" / "codex.md").read_text("utf-8")
    assert table() in page


@requirement("S0.11")
@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_each_failure_has_a_sentence_that_tells_nothing_of_the_engines_own_words(
    kind: FailureKind,
) -> None:
    told = sentence(TurnFailure(kind=kind, private="token=abc /home/x"), "codex")
    assert told[0].isupper()
    assert told.endswith(".")
    assert "{" not in told
    assert "abc" not in told
