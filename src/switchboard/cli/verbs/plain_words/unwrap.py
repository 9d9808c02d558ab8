"""`switchboard unwrap`: take the wrapper of a child away again."""

import shlex
from collections.abc import Iterable, Iterator

from switchboard.cli.render import hint, warning
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.cli.verbs.parts.wrapped import folder_of
from switchboard.config.problems import shown_path
from switchboard.settings.wrapping.wrap import unwrap
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="unwrap",
    summary="Remove the wrapper of a child: its file is again what it was, byte for byte.",
    words=(Word(name="NAME", about="the name of the child", is_name=True),),
    options=(
        Option(name="force", about="also when files of the wrapper have changed; those stay"),
    ),
    examples=("switchboard unwrap memory",),
)


class UnwrapReport(Report, frozen=True, kw_only=True, tag="switchboard.unwrap/1"):
    """What was put back, taken away and left."""

    name: str
    folder: str
    removed: tuple[str, ...]
    kept: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        yield f"unwrapped {style.bold(self.name)} in {self.folder}"
        yield from (f"  removed {path}" for path in self.removed)

    def notes(self, style: Style) -> Iterator[str]:
        for path in self.kept:
            yield warning(style, f"{path} is not as it was written, and stays")
        yield hint(style, f"switchboard trust {shlex.quote(self.name)}")


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    settings = settings_for(request)
    folder = folder_of(settings, name)
    force = request.arguments.has("force")
    done = unwrap(folder, name, workspace=settings.workspace, force=force)
    return UnwrapReport(
        name=name,
        folder=shown_path(folder, workspace=settings.workspace),
        removed=done.removed,
        kept=done.kept,
    )


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in entries(settings_for(request)))
