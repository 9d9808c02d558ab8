"""The verbs around a project: init, completion, help, version."""

from switchkit.cli.completion import completion_script
from switchkit.cli.explain import explanation, overview
from switchkit.files import replace_file
from switchkit.platform.paths import true_folder
from switchyard import __version__
from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport
from switchyard.cli.table import PROGRAM, VERBS
from switchyard.core.fault import CONFLICT, YardFault
from switchyard.project.detection.detect import detect
from switchyard.project.scope import FILE_NAME

_ABOUT = "Switchyard runs every branch of a project side by side."


def _init(arguments: YardArguments) -> YardReport:
    folder = true_folder(arguments.cwd)
    path = folder / FILE_NAME
    kind, text, notes = detect(folder)
    data = {
        "path": str(path),
        "recognised": kind,
        "toml": text,
        "notes": list(notes),
        "written": False,
    }
    if arguments.has("dry-run"):
        return YardReport("init", data, [text.rstrip()])
    if path.exists() and not arguments.has("force"):
        raise YardFault(
            "config-there", f"{path} already exists", hint="pass --force", exit_code=CONFLICT
        )
    replace_file(path, text.encode())
    path.chmod(0o644)
    return YardReport(
        "init",
        {**data, "written": True},
        [
            f"wrote {path} ({kind})",
            *(f"note: {one}" for one in notes),
            "next: switchyard up",
        ],
    )


def _completion(arguments: YardArguments) -> YardReport:
    shell = arguments.words[0]
    usages = [verb.usage for verb in VERBS.values()]
    text = completion_script(shell, PROGRAM, usages, aliases=("sy",))
    return YardReport("completion", {"shell": shell, "script": text}, text.split("\n"))


def _help(arguments: YardArguments) -> YardReport:
    name = arguments.words[0] if arguments.words else ""
    if name in VERBS:
        lines = list(explanation(PROGRAM, VERBS[name].usage))
        return YardReport("help", {"verb": name, "lines": lines}, lines)
    summaries = [(verb, one.usage.summary) for verb, one in VERBS.items()]
    lines = list(overview(PROGRAM, _ABOUT, {"Commands": summaries}))
    return YardReport("help", {"verbs": list(VERBS)}, lines)


def run(arguments: YardArguments) -> YardReport:
    """Set up a project, or explain the commands."""
    if arguments.verb == "version":
        return YardReport("version", {"version": __version__}, [f"switchyard {__version__}"])
    verbs = {"init": _init, "completion": _completion, "help": _help}
    return verbs[arguments.verb](arguments)
