"""The shape that the code has to keep: who may import whom, and where outside names may appear.

A package is a folder of `src/switchboard`; the providers count one by one, as `providers/suites`
does. Imports point down this table only. What a package needs from above it gets through a port of
`core`, handed in by `daemon`.
"""

from typing import NamedTuple

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "ipc": set(),
    "wire": {"core"},
    "config": {"core"},
    "procs": {"core"},
    "audit": {"core"},
    "vault": {"core"},
    "approvals": {"core"},
    "pipeline": {"core"},
    "sandbox": {"core", "procs"},
    "children": {"core", "ipc", "wire", "config", "procs", "vault"},
    "providers": {"core", "config", "procs", "sandbox", "children", "audit", "providers/*"},
    "providers/*": {"core", "config", "procs", "sandbox", "children", "audit"},
    "settings": {"core", "config", "children:schema", "providers/*:schema"},
    "surface": {"core", "wire", "ipc"},
    "control": {"core", "wire", "ipc"},
    "web": {"control"},
    "daemon": {
        *("core", "ipc", "wire", "config", "procs", "audit", "vault", "approvals", "pipeline"),
        *("sandbox", "children", "providers", "providers/*", "settings", "surface", "control"),
        "web",
    },
    "shim": {"ipc"},
    "cli": {"core", "ipc", "control", "shim"},
}


class Allowance(NamedTuple):
    """One module, or a pattern of modules, that may import more than its package may."""

    modules: str
    packages: set[str]
    why: str


ALSO_MAY_IMPORT = (
    Allowance("entry.py", {"shim", "cli"}, "every command begins here, and goes one of two ways"),
    Allowance("cli/*.py", {"config"}, "it reads the environment and shows problems"),
    Allowance("cli/verbs/*.py", {"settings", "daemon"}, "a verb works on settings or on a board"),
    Allowance("cli/verbs/*audit*.py", {"audit"}, "the log is read where no daemon runs, too"),
    Allowance("cli/verbs/approvals.py", {"approvals"}, "it decides at the desk, daemon or not"),
    Allowance("cli/verbs/parts/watching.py", {"approvals"}, "as above"),
    Allowance("cli/verbs/call.py", {"surface"}, "it prints what a client would be sent"),
    Allowance(
        "cli/verbs/parts/noting.py",
        {"approvals", "audit"},
        "what is decided of a changed tool is written down, daemon or not",
    ),
    Allowance(
        "cli/verbs/*.py", {"children:schema", "providers/*:schema"}, "settings are made of these"
    ),
)


class Outsider(NamedTuple):
    """A name from outside, the modules that may import it, and the reason."""

    where: tuple[str, ...]
    why: str


_HTTP = ("wire/http_*", "surface/http/*", "children/remote*")

THIRD_PARTY = {
    "msgspec": Outsider(("*",), "values are frozen structs, decoded without a detour"),
    "httpx2": Outsider(_HTTP, "only the HTTP edges know the client"),
    "uvicorn": Outsider(_HTTP, "only the HTTP edges know the server"),
    "yaml": Outsider(("config/front_matter.py",), "only front matter is YAML"),
    "jsonschema_rs": Outsider(("pipeline/*",), "arguments are checked in one gate"),
    "bpe_openai": Outsider(("cli/*",), "only the count of tokens needs a tokenizer"),
    "switchyard": Outsider(("providers/yard/*",), "one provider shows the local runtime"),
    "opentelemetry": Outsider(("daemon/otel.py",), "one subscriber exports, if wanted"),
    "uvloop": Outsider(("daemon/*",), "the daemon chooses the loop"),
}
# The shim has to start in a blink, so it and what it stands on use the standard library alone.
WITHOUT_OUTSIDERS = ("shim/*", "ipc/*")
ONLY_IN_ONE_MODULE = ("bpe_openai",)

# What is imported inside a function, and why. Everywhere else imports sit on top.
LATE_IMPORTS: dict[tuple[str, str], str] = {
    ("entry.py", "switchboard.shim.main.serve"): "the command line does without the shim",
    ("entry.py", "switchboard.cli.main.main"): "the shim does without the command line",
    ("ipc/paths.py", "hashlib.sha256"): "it loads slowly, and few homes have a path that long",
    ("cli/table.py", "*"): "one verb of many is loaded, by its name in the table",
    ("cli/verbs/daemon.py", "switchboard.daemon.serve.run"): "only the daemon itself needs it",
    ("cli/verbs/daemon.py", "switchboard.daemon.main.run_daemon"): "as above",
    ("children/pool.py", "switchboard.children.remote.open_remote"): "few have remote children",
    ("cli/verbs/serve.py", "switchboard.daemon.serve_http.serve_http"): "stdio needs no HTTP",
    ("config/front_matter.py", "yaml"): "only agents and skills have front matter",
    ("config/toml_text.py", "tomllib"): "few workspaces have a TOML file",
    ("daemon/runtime.py", "switchboard.daemon.engine.Engine"): "listing tools needs no engine",
    ("daemon/assemble.py", "switchboard.daemon.command_tools.command_tools"): "few have commands",
    ("daemon/assemble.py", "switchboard.sandbox.sandbox.platform_sandbox"): "few are confined",
    ("core/secrets.py", "switchboard.core.secret_forms.forms_of"): "many boards know no secret",
    ("daemon/secret_values.py", "urllib.parse.unquote"): "few have remote servers",
    ("daemon/secret_values.py", "urllib.parse.urlsplit"): "as above",
    ("daemon/confining.py", "switchboard.daemon.enclosing.Enclosures"): "few are confined",
    ("daemon/confining.py", "switchboard.sandbox.sandbox.platform_sandbox"): "as above",
    ("daemon/engine.py", "switchboard.daemon.command_tools.commands_provider"): "few have commands",
    ("daemon/engine.py", "switchboard.daemon.gatehouse.Gatehouse"): "few boards are guarded yet",
    ("daemon/shared_children.py", "switchboard.daemon.gatehouse.Gatehouse"): "as above",
    ("daemon/assemble.py", "switchboard.providers.yard.specs.yard_specs"): "few have a yard",
    ("daemon/assemble.py", "switchboard.providers.yard.specs.WORDS"): "as above",
    ("daemon/engine.py", "switchboard.daemon.yard.Yard"): "as above",
    ("daemon/telemetry.py", "switchboard.daemon.otel.Telemetry"): "few export anything",
    ("daemon/serve.py", "uvloop"): "absent on some systems",
    ("pipeline/schemas.py", "jsonschema_rs"): "it loads slowly, and listing needs no schema",
}

MAX_LINES = 400
