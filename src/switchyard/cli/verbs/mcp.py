"""`mcp`: the server itself, and setting clients up."""

from pathlib import Path

from switchkit.suggest import suggestion
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport
from switchyard.core.fault import YardFault
from switchyard.mcp.server import serve_stdio
from switchyard.mcp.session import McpSession
from switchyard.mcp.setup import config, install, projects
from switchyard.mcp.smoke import smoke
from switchyard.project.home import default_home
from switchyard.project.scope import ProjectScope, locate, locate_alias, pinned

STEPS = ("config", "install", "projects", "smoke")


def _scope(arguments: YardArguments) -> ProjectScope:
    alias = arguments.value("project")
    if alias is None:
        return locate(arguments.cwd, default_home())
    if arguments.has("cwd"):
        raise usage_fault("`--cwd` and `--project` cannot be used together", "mcp")
    return pinned(locate_alias(alias, default_home()), Path.cwd())


def _setup(arguments: YardArguments, step: str) -> YardReport:
    scope = _scope(arguments)
    make = install if step == "install" else config
    made = make(
        scope,
        name=arguments.value("name"),
        force=arguments.has("force"),
        dry_run=arguments.has("dry-run"),
    )
    lines = made["toml"].rstrip().split("\n")
    if step == "install" and made["written"]:
        lines += ["", f"# written to {made['config_path']}"]
    if made["registered"]:
        lines += [f"# the alias `{made['name']}` is registered ({made['alias']['registration']})"]
    else:
        lines += ["# a dry run: nothing was written and no alias was registered"]
    return YardReport(f"mcp.{step}", made, lines)


def _projects() -> YardReport:
    found = projects()
    lines = [f"home {found['home']}"]
    lines += [
        f"{one['name']}  {one['root']}{'  (stale)' if one['stale'] else ''}"
        for one in found["projects"]
    ]
    return YardReport("mcp.projects", found, lines)


def _smoke(arguments: YardArguments) -> YardReport:
    found = smoke(_scope(arguments), arguments.value("name"))
    lines = [
        f"{'ok  ' if one['ok'] else 'FAIL'} {one['name']} {one['detail']}".rstrip()
        for one in found["checks"]
    ]
    return YardReport("mcp.smoke", found, lines, 0 if found["passed"] else 1)


def run(arguments: YardArguments) -> YardReport:
    """Serve, or set up."""
    step = arguments.words[0] if arguments.words else None
    if step is None:
        serve_stdio(McpSession(_scope(arguments)))
        return YardReport("mcp", {}, ())
    if step == "projects":
        return _projects()
    if step == "smoke":
        return _smoke(arguments)
    if step in ("config", "install"):
        return _setup(arguments, step)
    raise YardFault("usage", f"unknown step `{step}`; {suggestion(step, STEPS)}", exit_code=2)
