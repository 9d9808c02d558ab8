"""What calls of agents and of runs answer: `ok` and `output` as the text, the rest in `_meta`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.faults import Fault

if TYPE_CHECKING:
    # A listing needs the words for faults, and nothing of runs.
    from switchboard.runs.run import Run

RUN_KEY = "switchboard/run"


def fault_text(fault: Fault) -> str:
    """A failure in the shape of an answer: what happened, and what to do."""
    said = fault.message if not fault.hint else f"{fault.message}: {fault.hint}"
    return _text(ok=False, output=said)


def answer(run: Run) -> Outcome:
    """The end of a run, or that it goes on."""
    ok = run.state == "completed" or not run.has_ended
    output = run.output if run.has_ended else going_on(run)
    return Outcome(
        blocks=(TextBlock(_text(ok=ok, output=output)),), is_error=not ok, meta=about(run)
    )


def report(run: Run, output: str, **more: Any) -> Outcome:
    """What a tool of runs tells of one. That it could be told is `ok`, whatever became of it."""
    text = _text(ok=True, output=output, run=facts(run), **more)
    return Outcome(blocks=(TextBlock(text),), meta=about(run))


def about(run: Run) -> dict[str, Any]:
    """The same for programs."""
    return {RUN_KEY: facts(run)}


def facts(run: Run) -> dict[str, Any]:
    """What is known of a run, as JSON."""
    told: dict[str, Any] = {
        "id": run.id,
        "state": run.state,
        "agent": run.spec.agent,
        "engine": run.spec.engine,
    }
    for name in ("model", "doing", "reason", "approval_id"):
        if value := getattr(run, name):
            told[name] = value
    if run.usage is not None:
        usage = asdict(run.usage)
        cost = usage.pop("cost_usd")
        told["usage"] = usage
        if cost is not None:
            told["cost_usd"] = cost
    if run.state == "asking" and run.approval_id:
        told["approval"] = approval_facts(run.approval_id)
    if not run.has_ended:
        told["next"] = {"tool": "run_wait", "arguments": {"run_id": run.id}}
    return told


def approval_facts(approval_id: str) -> dict[str, Any]:
    """A question that waits for a person, and what that person can type."""
    verbs = ("show", "approve", "deny")
    commands = {verb: f"switchboard approvals {verb} {approval_id}" for verb in verbs}
    return {"id": approval_id, "commands": commands}


def going_on(run: Run) -> str:
    """That a run goes on, and what to call."""
    if run.state == "asking" and run.approval_id:
        state = (
            f"Run {run.id} of {run.spec.agent} waits for approval {run.approval_id} of a person:"
            f" the user can look with `switchboard approvals show {run.approval_id}`, and then type"
            f" `switchboard approvals approve {run.approval_id}`, or `deny` in place of `approve`."
        )
    elif run.state == "asking":
        state = f"Run {run.id} of {run.spec.agent} waits for somebody to fill in a form."
    elif run.state == "queued":
        state = f"Run {run.id} of {run.spec.agent} waits for its turn."
    else:
        doing = f" ({run.doing})" if run.doing else ""
        state = f"Run {run.id} of {run.spec.agent} goes on{doing}."
    return (
        f'{state} Call `run_wait` with {{"run_id": "{run.id}"}} to wait for its answer;'
        " do not start it again."
    )


def _text(**members: Any) -> str:
    return msgspec.json.encode(members).decode()
