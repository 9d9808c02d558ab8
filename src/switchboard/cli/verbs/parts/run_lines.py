"""Lines of a run's transcript as people read them."""

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from switchboard.core.privacy.cleaning import written_out
from switchboard.runs.run import Run, RunEvent
from switchkit.cli.style import Style

_MOST = 200


def event_lines(event: RunEvent, style: Style) -> Iterator[str]:
    """One line of a transcript, as one or several lines of text."""
    clock = style.dim(time.strftime("%H:%M:%S", time.localtime(event.at)))
    try:
        data: dict[str, Any] = msgspec.json.decode(event.data, type=dict[str, Any])
    except msgspec.MsgspecError:
        return
    text = _shown(data)
    if text:
        first, *rest = text.splitlines()
        yield f"{clock} {first}"
        yield from (f"         {line}" for line in rest)


def run_lines(run: Run, style: Style) -> Iterator[str]:
    """A run as it is now, with its answer."""
    spec = run.spec
    yield f"{style.bold(run.id)}  {spec.agent} on {spec.engine}  {run.state}"
    for name, value in (
        ("task", spec.task),
        ("in", spec.cwd),
        ("model", run.model),
        ("started", _when(run.created_at)),
        ("ended", _when(run.ended_at)),
        ("attempts", str(run.attempts) if run.attempts > 1 else ""),
        ("doing", run.doing),
        ("waits for", f"approval {run.approval_id}" if run.approval_id else ""),
        ("reason", run.reason),
        ("used", _used(run)),
    ):
        if value:
            yield f"  {name + ':':<11}{_one_line(value)}"
    if run.output:
        yield ""
        yield from run.output.splitlines()


def _shown(data: dict[str, Any]) -> str:  # noqa: PLR0911 - a case for each kind of event
    match data:
        case {"event": "state", "state": state, "text": text}:
            return f"{state}{f': {_one_line(str(text))}' if text else ''}"
        case {"event": "opened", "model": model}:
            return f"began{f' with {model}' if model else ''}"
        case {"event": "message", "text": text}:
            return _clean(str(text))
        case {"event": "reasoning", "text": text}:
            return f"thinks: {_one_line(str(text))}"
        case {"event": "command", "status": status, "command": command}:
            ended = "" if status == "started" else f" ({status})"
            return f"$ {_one_line(str(command))}{ended}"
        case {"event": "file", "status": status, "paths": paths}:
            return f"files {status}: {_one_line(', '.join(map(str, paths)))}"
        case {"event": "tool", "status": status, "tool": tool, "server": server}:
            return f"tool {status}: {_one_line(f'{server}/{tool}' if server else str(tool))}"
        case {"event": "notice" | "cut", "text": text}:
            return f"note: {_one_line(str(text))}"
        case {"event": "permission", "subject": subject}:
            return f"asks whether it may: {_one_line(str(subject))}"
        case _:
            # The end is told with the run, and the engine's own words are for programs.
            return ""


def _clean(text: str) -> str:
    return "\n".join(written_out(line) for line in text.splitlines())


def _one_line(text: str) -> str:
    text = written_out(" ".join(text.split()))
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else ""


def _used(run: Run) -> str:
    if run.usage is None:
        return ""
    cost = f", {run.usage.cost_usd:.4f} USD" if run.usage.cost_usd is not None else ""
    return f"{run.usage.input_tokens:,} tokens in, {run.usage.output_tokens:,} out{cost}"
