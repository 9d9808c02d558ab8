"""Lines of a run's transcript as people read them."""

import time
from collections.abc import Iterator

from switchboard.cli.moments import local_time
from switchboard.runs.event_words import event_words, one_line
from switchboard.runs.run import Run, RunEvent
from switchkit.cli.style import Style

_UNWRITTEN = "not yet: its end could not be written, and is tried again; make room on the disk"


def event_lines(event: RunEvent, style: Style) -> Iterator[str]:
    """One line of a transcript, as one or several lines of text."""
    clock = style.dim(time.strftime("%H:%M:%S", time.localtime(event.at)))
    text = event_words(event.data).text
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
        ("continues", spec.replies_to),
        ("in", spec.cwd),
        ("model", run.model),
        ("started", _when(run.created_at)),
        ("ended", _when(run.ended_at)),
        ("attempts", str(run.attempts) if run.attempts > 1 else ""),
        ("doing", run.doing),
        ("waits for", f"approval {run.approval_id}" if run.approval_id else ""),
        ("reason", run.reason if run.reason != run.state else ""),
        ("used", _used(run)),
        ("on disk", _UNWRITTEN if run.is_unwritten else ""),
    ):
        if value:
            yield f"  {name + ':':<11}{one_line(value)}"
    if run.output:
        yield ""
        yield from run.output.splitlines()


def _when(at: float) -> str:
    return local_time(at) if at else ""


def _used(run: Run) -> str:
    if run.usage is None:
        return ""
    cost = f", {run.usage.cost_usd:.4f} USD" if run.usage.cost_usd is not None else ""
    return f"{run.usage.input_tokens:,} tokens in, {run.usage.output_tokens:,} out{cost}"
