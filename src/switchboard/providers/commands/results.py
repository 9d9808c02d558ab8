"""What a process said, as the outcome of its call."""

import signal

from switchboard.core.calls.call import Figures, Outcome, TextBlock
from switchboard.procs.run import ProcessEnd

# Programs that run others tell of a signal in this way, and so does a sandbox.
_SIGNALLED = 128


def outcome_of(end: ProcessEnd, tool: str) -> Outcome:
    """The text of stdout, then that of stderr. A status other than 0 is an error of the tool."""
    blocks: list[TextBlock] = []
    status = end.status or 0
    if status:
        blocks.append(TextBlock(f"`{tool}` {_how(status)}"))
    if end.stdout:
        blocks.append(TextBlock(end.stdout))
    if end.stderr:
        blocks.append(TextBlock(f"stderr:\n{end.stderr}"))
    if not blocks:
        blocks.append(TextBlock(f"`{tool}` ended and printed nothing"))
    if end.appeared:
        # Whoever reads the result is who uses the folder next.
        blocks.append(TextBlock(_appeared(end.appeared)))
    figures = Figures(
        exit_status=end.status,
        bytes_stdout=end.bytes_stdout,
        bytes_stderr=end.bytes_stderr,
        redactions=end.redactions,
        appeared=end.appeared,
    )
    return Outcome(blocks=tuple(blocks), is_error=status != 0, figures=figures)


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
