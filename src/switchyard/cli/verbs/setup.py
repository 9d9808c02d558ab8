"""The verbs around a project: init, completion, help, version."""

from switchkit.cli.completion import completion_script
from switchkit.cli.explain import explanation, overview
from switchkit.files import replace_file
from switchyard import __version__
from switchyard.cli.arguments import Arguments
from switchyard.cli.report import Report
from switchyard.cli.table import PROGRAM, VERBS
from switchyard.core.fault import CONFLICT, YardFault
from switchyard.project.detect import detect
from switchyard.project.scope import FILE_NAME

_ABOUT = "Switchyard runs every branch of a project side by side."


def _init(arguments: Arguments) -> Report:
    folder = arguments.cwd.resolve()
    path = folder / FILE_NAME
    kind, text = detect(folder)
    data = {"path": str(path), "recognised": kind, "toml": text, "written": False}
    if arguments.has("dry-run"):
        return Report("init", data, [text.rstrip()])
    if path.exists() and not arguments.has("force"):
        raise YardFault(
            "config-there", f"{path} is already there", hint="pass --force", exit_code=CONFLICT
        )
    replace_file(path, text.encode())
    path.chmod(0o644)
    return Report(
        "init", {**data, "written": True}, [f"wrote {path} ({kind})", "next: switchyard up"]
    )


def _completion(arguments: Arguments) -> Report:
    shell = arguments.words[0]
    usages = [verb.usage for verb in VERBS.values()]
    text = completion_script(shell, PROGRAM, usages, aliases=("sy",))
    return Report("completion", {"shell": shell, "script": text}, text.split("\n"))


def _help(arguments: Arguments) -> Report:
    name = arguments.words[0] if arguments.words else ""
    if name in VERBS:
        lines = list(explanation(PROGRAM, VERBS[name].usage))
        return Report("help", {"verb": name, "lines": lines}, lines)
    summaries = [(verb, one.usage.summary) for verb, one in VERBS.items()]
    lines = list(overview(PROGRAM, _ABOUT, {"Commands": summaries}))
    return Report("help", {"verbs": list(VERBS)}, lines)


def run(arguments: Arguments) -> Report:
    """Set a project up, or explain."""
    if arguments.verb == "version":
        return Report("version", {"version": __version__}, [f"switchyard {__version__}"])
    verbs = {"init": _init, "completion": _completion, "help": _help}
    return verbs[arguments.verb](arguments)
