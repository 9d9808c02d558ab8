"""`switchboard wrap`: put a wrapper that takes plain words in front of a child."""

import shlex
from collections.abc import Iterable, Iterator

from switchboard.cli.render import hint, warning
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.cli.verbs.parts.wrapped import folder_of
from switchboard.config.problems import shown_path
from switchboard.settings.wrapping.descriptions import read_descriptions
from switchboard.settings.wrapping.wrap import wrap
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="wrap",
    summary="Let a model turn plain words into calls of one child, and show nothing else of it.",
    words=(Word(name="NAME", about="the name of a child in `.switchboard/mcps`", is_name=True),),
    details=(
        "The child file is kept in `original/`. `mcp-descriptions.json` in `.switchboard`, in the"
        " workspace or in your home says what clients and the model are told. A wrapped child"
        " waits for trust again."
    ),
    examples=("switchboard wrap memory",),
)


class WrapReport(Report, frozen=True, kw_only=True, tag="switchboard.wrap/1"):
    """What stands in the folder of the child now."""

    name: str
    folder: str
    written: tuple[str, ...]
    kept: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        yield f"wrapped {style.bold(self.name)} in {self.folder}"
        yield from (f"  wrote {path}" for path in self.written)

    def notes(self, style: Style) -> Iterator[str]:
        for path in self.kept:
            yield warning(style, f"{path} was there already and stays as it is")
        yield hint(style, f"switchboard trust {shlex.quote(self.name)}")


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    settings = settings_for(request)
    folder = folder_of(settings, name)
    said = read_descriptions(name, workspace=settings.workspace, home=settings.home)
    done = wrap(folder, name, said, workspace=settings.workspace)
    return WrapReport(
        name=name,
        folder=shown_path(folder, workspace=settings.workspace),
        written=done.written,
        kept=done.kept,
    )


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in entries(settings_for(request)))
