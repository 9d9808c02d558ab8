"""What a process said, as the outcome of its call."""

import signal

from switchboard.core.calls import Outcome, TextBlock
from switchboard.providers.commands.runs import Ended

# Programs that run others tell of a signal in this way, and so does a sandbox.
_SIGNALLED = 128


def outcome_of(ended: Ended, tool: str) -> Outcome:
    """The text of stdout, then that of stderr. A status other than 0 is an error of the tool."""
    blocks: list[TextBlock] = []
    if ended.status != 0:
        blocks.append(TextBlock(f"`{tool}` {_how(ended.status)}"))
    if ended.stdout:
        blocks.append(TextBlock(ended.stdout))
    if ended.stderr:
        blocks.append(TextBlock(f"stderr:\n{ended.stderr}"))
    if not blocks:
        blocks.append(TextBlock(f"`{tool}` ended and printed nothing"))
    if names := ended.figures.appeared:
        # Whoever reads the result is who uses the folder next.
        blocks.append(TextBlock(_appeared(names)))
    return Outcome(blocks=tuple(blocks), is_error=ended.status != 0, figures=ended.figures)


def _appeared(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{name}`" for name in names)
    return (
        f"Switchboard: {shown} appeared in its folder while it ran. "
        "Such files can make other programs run something: look at them before you go on."
    )


def _how(status: int) -> str:
    number = -status if status < 0 else status - _SIGNALLED
    if number > 0:
        try:
            return f"was ended by {signal.Signals(number).name}"
        except ValueError:
            pass
    return f"ended with status {status}"
