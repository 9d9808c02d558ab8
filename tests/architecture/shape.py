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
    "postgres": {"core"},
    "audit": {"core", "postgres"},
    "vault": {"core", "postgres"},
    "approvals": {"core", "postgres"},
    "results": {"core"},
    # A repeat is bound to the same things as an approval.
    "receipts": {"core", "postgres", "approvals:digest"},
    "engines": {"core", "config", "procs"},
    "runs": {"core", "engines", "postgres"},
    "models": {"core", "engines", "children:http", "wire:http_hosts"},
    "pipeline": {"core", "results"},
    "directory": {"core"},
    "search": {"core"},
    "sandbox": {"core", "config", "procs"},
    "children": {"core", "ipc", "wire", "config", "procs", "vault"},
    # Behind a port of `children`; it knows what an entry says, and dials as children do.
    "oauth": {"core", "wire", "postgres", "children:schema", "children:http"},
    # Behind a port of `core`; it asks the issuer as logins do.
    "people": {"core", "wire", "oauth"},
    # Behind a port of `procs`; it dials as children do.
    "egress": {"core", "wire", "procs", "children:http"},
    "providers": {
        *("core", "config", "procs", "sandbox", "children", "settings", "providers/*"),
        *("runs:ports", "results:store", "results:inlining"),
    },
    "providers/*": {
        *("core", "config", "procs", "sandbox", "children", "approvals", "pipeline:schemas"),
        *("engines", "runs", "models", "ipc:environment", "search", "results"),
        *("providers:table", "providers:source", "providers:context"),
    },
    "settings": {
        *("core", "config", "children:schema", "children:exposure", "children:secrets"),
        *("children:accounts", "children:starting"),
        "providers:table",
        *("runs:limits", "vault:options", "vault:references", "pocket:notices"),
        "people:options",
    },
    "hosts": {"core", "config"},
    "control": {"core", "wire", "ipc", "approvals", "audit", "runs", "receipts"},
    "surface": {"core", "wire", "ipc", "control"},
    "web": {"core", "wire", "control", "surface:http"},
    # It carries words over as children and logins do, and asks the queue over the daemon's socket.
    "pocket": {
        *("core", "wire", "control", "procs", "approvals:queue", "approvals:wording"),
        *("surface:http", "oauth:http", "oauth:addresses"),
    },
    "daemon": {
        *("core", "ipc", "wire", "config", "procs", "audit", "vault", "approvals", "pipeline"),
        *("postgres", "directory", "engines", "runs", "oauth", "egress", "receipts", "results"),
        *("sandbox", "children", "providers", "providers/*", "settings", "surface", "control"),
        *("web", "pocket", "people"),
    },
    "shim": {"ipc", "wire:frames"},
    "cli": {"core", "ipc", "control", "shim"},
}
# Packages of the table that do not exist yet, and what will be in them. Keys of the configuration
# that nothing uses yet say so in their row, as `unused`.
PLANNED: dict[str, str] = {}


class Allowance(NamedTuple):
    """One module, or a pattern of modules, that may import more than its package may."""

    modules: str
    packages: set[str]
    why: str


ALSO_MAY_IMPORT = (
    *(
        Allowance(f"providers/*/{name}.py", {"settings"}, "the plug of a provider, and its parts")
        for name in ("source", "section", "listing")
    ),
    Allowance(
        "providers/agents/servers/*.py",
        {"settings"},
        "what a run gets is decided at each run, by files that only the settings can read",
    ),
    Allowance(
        "providers/agents/work/engine_trust.py",
        {"settings"},
        "what an engine may follow is decided at each run, by the record of trust",
    ),
    Allowance(
        "providers/agents/*.py",
        {"ipc:environment"},
        "what an engine starts of Switchboard is told whose it is, and how deep",
    ),
    Allowance(
        "providers/agents/formats/servers.py",
        {"settings"},
        "agent files declare servers by the rules of every other file",
    ),
    Allowance("entry.py", {"shim", "cli"}, "every command begins here, and goes one of two ways"),
    Allowance("cli/*.py", {"config"}, "it reads the environment and shows problems"),
    Allowance("cli/verbs/doctor.py", {"sandbox"}, "it says which sandbox works here"),
    Allowance("cli/verbs/parts/doctor/surroundings.py", {"sandbox"}, "it says what holds limits"),
    Allowance("cli/verbs/parts/servers.py", {"sandbox:limits"}, "it shows limits in words"),
    Allowance(
        "cli/verbs/parts/trusting/trust_items.py",
        {"children:environment"},
        "it shows what of the shell a server is given",
    ),
    Allowance("children/server_launches.py", {"sandbox:limits"}, "as above, to who is asked"),
    Allowance("settings/workspace_limits.py", {"sandbox:limits"}, "it keeps the smaller of two"),
    Allowance(
        "cli/verbs/consent/vault.py", {"people"}, "secrets of people are named by their keys"
    ),
    Allowance("cli/verbs/*vault*.py", {"vault"}, "secrets are put away where no daemon runs, too"),
    Allowance("cli/verbs/*.py", {"children:secrets"}, "it says which secrets servers ask for"),
    Allowance("cli/verbs/*.py", {"settings", "daemon"}, "a verb works on settings or on a board"),
    Allowance("cli/verbs/agents/agents.py", {"providers/*"}, "it shows what agent files come to"),
    Allowance("cli/verbs/calling/find.py", {"search"}, "it searches where no daemon runs"),
    Allowance("cli/verbs/egress.py", {"egress"}, "decisions are shown where no daemon runs, too"),
    Allowance("cli/verbs/*audit*.py", {"audit"}, "the log is read where no daemon runs, too"),
    Allowance(
        "cli/verbs/parts/approving/team_state.py", {"approvals", "audit"}, "whose they are, it says"
    ),
    Allowance("cli/verbs/calling/usage.py", {"audit"}, "as above"),
    Allowance("cli/verbs/parts/hosts/leaving.py", {"audit:paths"}, "what proves the log stays"),
    Allowance("cli/verbs/open_page.py", {"procs:open_page"}, "it opens the user's browser"),
    Allowance("cli/verbs/consent/approvals.py", {"approvals", "audit"}, "it decides daemon or not"),
    Allowance("cli/verbs/*runs.py", {"runs"}, "runs are looked at where no daemon runs, too"),
    Allowance("cli/verbs/parts/runs/run_lines.py", {"runs"}, "as above"),
    Allowance("cli/verbs/parts/dated.py", {"runs"}, "as above"),
    Allowance(
        "cli/verbs/parts/calls/*.py",
        {"receipts", "audit"},
        "what is kept of calls is shown where no daemon runs, too",
    ),
    Allowance("cli/verbs/parts/approving/lasting_rules.py", {"approvals", "audit"}, "as above"),
    Allowance(
        "cli/verbs/parts/approving/phone_serving.py",
        {"pocket", "surface:http", "wire:http_hosts", "approvals", "audit"},
        "the command itself answers phones, and is who approves for them",
    ),
    Allowance("cli/verbs/parts/approving/device_list.py", {"pocket:devices"}, "as above"),
    Allowance("cli/verbs/parts/doctor/notices.py", {"pocket:notices"}, "it says what is missing"),
    Allowance("cli/verbs/parts/questions.py", {"approvals:wording"}, "names are shown as asked"),
    Allowance("cli/verbs/parts/asking.py", {"approvals:wording"}, "as above"),
    Allowance("cli/verbs/servers/try_server.py", {"approvals:wording"}, "bars are shown as asked"),
    Allowance("surface/asking/approval_form.py", {"approvals:wording"}, "rows have bars as asked"),
    Allowance("cli/verbs/parts/trusting/consent.py", {"approvals", "audit"}, "as above"),
    Allowance("cli/verbs/parts/importing/*.py", {"hosts"}, "it knows what servers are for"),
    Allowance("cli/verbs/*hosts/*.py", {"hosts"}, "files of hosts are changed by commands alone"),
    Allowance(
        "cli/verbs/parts/hosts/carrying_out.py",
        {"vault"},
        "secrets are put away on the way",
    ),
    Allowance("cli/verbs/parts/hosts/programs.py", {"procs:trial"}, "a host is asked about us"),
    Allowance(
        "cli/verbs/parts/hosts/left_containers.py",
        {"procs:trial", "children:starting"},
        "an engine is asked for containers of the command lines that start them",
    ),
    Allowance("cli/verbs/parts/doctor/remedies.py", {"procs:trial"}, "it runs what mends"),
    Allowance("cli/verbs/parts/doctor/login_shell.py", {"procs:trial"}, "it asks a shell"),
    Allowance("cli/verbs/parts/doctor/slow.py", {"audit"}, "what is slow was written down"),
    Allowance(
        "cli/verbs/parts/http_endpoint.py",
        {"surface"},
        "it opens the socket that the daemon serves",
    ),
    Allowance(
        "cli/verbs/parts/auth/*.py",
        {"oauth", "procs:open_page", "audit", "children:accounts"},
        "a login is made and written down by the command, with the user's browser",
    ),
    Allowance(
        "cli/verbs/*.py", {"children:schema", "children:exposure"}, "settings are made of these"
    ),
    Allowance(
        "cli/verbs/*.py", {"providers:table", "providers:source"}, "it asks every provider alike"
    ),
)


class Outsider(NamedTuple):
    """A name from outside, the modules that may import it, and the reason."""

    where: tuple[str, ...]
    why: str


_HTTP = ("wire/http_*", "surface/http/*", "children/http/*", "models/http/*", "oauth/http/*")

THIRD_PARTY = {
    "msgspec": Outsider(("*",), "values are frozen structs, decoded without a detour"),
    "httpx2": Outsider(_HTTP, "only the HTTP edges know the client"),
    "uvicorn": Outsider(_HTTP, "only the HTTP edges know the server"),
    "yaml": Outsider(
        ("config/front_matter.py", "hosts/edits/yaml_edit.py"),
        "only front matter is YAML, and the file of one host",
    ),
    "jsonschema_rs": Outsider(("pipeline/*",), "arguments are checked in one gate"),
    "bpe_openai": Outsider(("cli/*",), "only the count of tokens needs a tokenizer"),
    "switchyard": Outsider(("providers/yard/*",), "one provider shows the local runtime"),
    "opentelemetry": Outsider(("daemon/logs/otel.py",), "one subscriber exports, if wanted"),
    "hvac": Outsider(("vault/kv_vault.py",), "one engine of the vault is a server"),
    "requests": Outsider(("vault/kv_vault.py",), "`hvac` raises its errors"),
    "cryptography": Outsider(
        (
            *("vault/envelope.py", "egress/certificates.py"),
            *("pocket/certificate.py", "pocket/proofs.py"),
            *("people/jws.py", "people/issuer_keys.py"),
        ),
        "one module encrypts, one signs what a child is shown, two know a phone and are known, and "
        "two know what an issuer has signed",
    ),
    "h11": Outsider((*_HTTP, "egress/*"), "how far a request has come, and what a proxy passes on"),
    "psycopg": Outsider(("postgres/*",), "one package speaks to the database of a team"),
    "dbos": Outsider(("runs/dbos_engine.py",), "one module makes runs last"),
    "uvloop": Outsider(("daemon/*",), "the daemon chooses the loop"),
}
# The shim has to start in a blink, so it and what it stands on use the standard library alone.
WITHOUT_OUTSIDERS = ("shim/*", "ipc/*")
ONLY_IN_ONE_MODULE = ("bpe_openai", "dbos")

# What is imported inside a function, and why. Everywhere else imports sit on top.
LATE_IMPORTS: dict[tuple[str, str], str] = {
    ("settings/server_rules.py", "shlex"): "few need it, and everybody waits for the first listing",
    ("providers/suites/source.py", "shlex"): "as above",
    (
        "cli/verbs/serving/serve.py",
        "switchboard.daemon.team.serving.serve_team",
    ): "few serve a team, and the driver of a database takes a while to load",
    ("cli/verbs/doctor.py", "switchboard.daemon.team.check.team_findings"): "as above",
    ("cli/verbs/consent/vault.py", "switchboard.daemon.team.desk.rekey_team"): "as above",
    ("cli/verbs/calling/usage.py", "switchboard.daemon.team.desk.team_usage"): "as above",
    (
        "cli/verbs/parts/calls/asked_calls.py",
        "switchboard.daemon.team.desk.team_calls",
    ): "as above",
    ("cli/verbs/serving/worker.py", "switchboard.daemon.serve.run"): "as above",
    ("cli/verbs/serving/worker.py", "switchboard.daemon.team.working.work_for_team"): "as above",
    **{
        ("cli/verbs/serving/state.py", f"switchboard.daemon.team.moving.state_move.{name}"): (
            "as above"
        )
        for name in ("HomeState", "move_to_database", "move_to_home", "team_state")
    },
    ("cli/verbs/serving/state.py", "switchboard.daemon.team.upgrading.upgrade_tables"): "as above",
    ("cli/verbs/parts/runs/asked_runs.py", "switchboard.daemon.team.desk.TeamRuns"): "as above",
    ("cli/verbs/consent/vault.py", "switchboard.daemon.team.desk.team_vault"): "as above",
    ("cli/verbs/consent/vault.py", "switchboard.people.token_door.person_key"): "as above",
    (
        "cli/verbs/parts/approving/team_state.py",
        "switchboard.daemon.team.desk.TeamApprovals",
    ): "as above",
    (
        "cli/verbs/parts/approving/team_state.py",
        "switchboard.daemon.team.desk.team_audit",
    ): "as above",
    (
        "daemon/caller.py",
        "switchboard.daemon.board.egress_questions.Attendant",
    ): "few have hosts that are asked about",
    (
        "pipeline/order.py",
        "switchboard.pipeline.gates.results.ResultsGate",
    ): "few bound results",
    (
        "results/reading_room.py",
        "concurrent.futures.ThreadPoolExecutor",
    ): "few results are that large",
    ("core/network/egress.py", "ipaddress"): "few have hosts of their own",
    ("config/key_positions.py", "bisect.bisect_left"): "few files have much to tell",
    **{
        ("config/documents.py", f"switchboard.config.toml_text.{name}"): "few have a TOML file"
        for name in ("TomlInvalid", "read_toml")
    },
    (
        "settings/workspace_limits.py",
        "switchboard.sandbox.limits.narrowest",
    ): "few servers have limits",
    **{
        (f"settings/consent/{record}.py", name): "everyone reads the record, few change it"
        for record in ("trust_record", "switched_off")
        for name in (
            "switchboard.config.writing.write_whole",
            "switchboard.settings.consent.home_lock.home_lock",
        )
    },
    **{
        ("egress/way_out.py", f"switchboard.egress.certificates.{name}"): "most lists need none"
        for name in ("ChildAuthority", "bundle")
    },
    **{
        ("daemon/board/egress.py", f"switchboard.{name}"): "few have a network of chosen hosts"
        for name in (
            *("egress.record.EgressRecord", "egress.resolving.SystemResolver"),
            *("egress.way_out.ProxiedWayOut", "egress.way_out.WayOutSpec"),
            *("egress.answers.decisions.EgressDecisions", "egress.limits.LIMITS"),
            "egress.session_variables.session_variables",
            "egress.answers.asked_before.AskedBefore",
            "daemon.board.egress_questions.EgressQuestions",
            "daemon.board.egress_questions.EgressSubject",
            "core.privacy.redaction.redacted_text",
        )
    },
    (
        "settings/load.py",
        "switchboard.settings.scopes.session_servers.servers_in_scope",
    ): "it reads front matter, and most boards have no active skill",
    **{
        ("settings/load.py", f"switchboard.settings.scopes.skills.{name}"): "few have skills"
        for name in ("ACTIVE", "active_skills", "skill_folders")
    },
    (
        "cli/verbs/parts/loading.py",
        "switchboard.cli.guard_notice.tell_once",
    ): "it is told once, and never to a client that waits for its listing",
    **{
        (f"settings/{place}.py", f"switchboard.settings.{name}"): why
        for place, name, why in (
            (
                "files/watched_files",
                "consent.sealed_files.files_to_watch",
                "few come from a workspace",
            ),
            ("fingerprints", "consent.sealed_files.digests_of_files", "few come from a workspace"),
            ("fingerprints", "consent.looking.Unbound", "as above"),
            ("server_rules", "rules.egress_rules.judge_egress", "few servers have chosen hosts"),
            ("servers", "rules.egress_rules.without_foreign_egress", "few have chosen hosts"),
            ("servers", "fingerprints.sealed", "few come from a workspace"),
            ("servers", "fingerprints.bound_values", "as above"),
            ("servers", "trust.granted_to", "as above"),
            ("servers", "trust.origin_of", "as above"),
            ("files/layer_merge", "files.inheriting.disinherit", "as above"),
            ("validate", "rules.look_alikes.skeleton", "few names are not plain"),
        )
    },
    ("settings/scopes/skills.py", "hashlib.sha256"): "it loads slowly, and few have skills",
    ("settings/consent/digests.py", "hashlib.file_digest"): "most entries come from no workspace",
    ("settings/consent/digests.py", "hashlib.sha256"): "as above",
    ("settings/fingerprints.py", "hashlib.sha256"): "as above",
    ("core/sessions.py", "hashlib.blake2s"): "it loads slowly, and few clients have no session",
    ("config/documents.py", "hashlib.sha256"): "it loads slowly, and few ask for a digest",
    (
        "settings/server_rules.py",
        "switchboard.settings.rules.account_rules.judge_accounts",
    ): "few servers have several logins, and it compiles patterns",
    (
        "surface/endpoint.py",
        "switchboard.surface.tasks.ClientTasks",
    ): "few clients know of tasks",
    (
        "surface/endpoint.py",
        "switchboard.surface.client_calls.ClientCalls",
    ): "everyone waits for the first listing, and nobody calls before",
    ("cli/columns.py", "unicodedata.east_asian_width"): "most text is ASCII",
    (
        "children/inbound/attribution.py",
        "switchboard.core.privacy.cleaning.cleaned",
    ): "its patterns take a while to compile",
    ("children/inbound/attribution.py", "urllib.parse.urlsplit"): "few are led to a page",
    ("core/text/strict.py", "json"): "it takes four modules, and only guarded boards read so",
    ("entry.py", "switchboard.shim.main.serve"): "the command line does without the shim",
    ("entry.py", "switchboard.shim.quick_call.call"): "as above",
    ("entry.py", "switchboard.cli.main.main"): "the shim does without the command line",
    ("ipc/paths.py", "hashlib.sha256"): "it loads slowly, and few homes have a path that long",
    ("cli/table.py", "*"): "one verb of many is loaded, by its name in the table",
    **{
        ("providers/agents/work/engine_set.py", f"switchboard.engines.{name}"): "those that run"
        for name in (
            *("codex.spare", "codex.template", "codex.engine", "claude.engine", "acp.engine"),
        )
    },
    **{
        ("providers/agents/source.py", f"switchboard.providers.agents.work.engine_health.{name}"): (
            "it loads the engines, and only the doctor asks after them without a run"
        )
        for name in ("engine_health", "engines_of", "runs_trouble")
    },
    (
        "providers/agents/source.py",
        "switchboard.providers.agents.work.engine_trust.EngineTrust",
    ): "it reads the settings of engines, which only `trust` and the doctor show",
    ("providers/table.py", "*"): "a provider is loaded when it is configured, by its name",
    (
        "cli/verbs/serving/daemon.py",
        "switchboard.daemon.serve.run",
    ): "only the daemon itself needs it",
    ("cli/verbs/serving/daemon.py", "switchboard.daemon.main.run_daemon"): "as above",
    ("children/pool.py", "switchboard.children.http.remote.open_remote"): "few are remote",
    (
        "children/sharing/singletons.py",
        "switchboard.children.http.forwarded.open_forwarded",
    ): "few have such servers",
    **{
        (
            "cli/verbs/serving/serve.py",
            f"switchboard.{name}",
        ): "one of three ways is loaded"
        for name in (
            "cli.verbs.parts.http_endpoint.serve_attached",
            "daemon.serve.run",
            "daemon.serve.serve_stdio",
            "daemon.serve_http.serve_http",
        )
    },
    **{
        ("providers/suites/source.py", f"switchboard.models.variables.{name}"): "few ask a model"
        for name in ("KEY_NAME", "secret_names", "variable_names")
    },
    **{
        ("providers/suites/specs.py", f"switchboard.providers.suites.natural.query.{name}"): (
            "few ask a model"
        )
        for name in ("NAME", "QUERY_SCHEMA", "SUMMARY")
    },
    ("runs/places.py", "sqlite3"): "a home without runs has no such file",
    ("daemon/attachment.py", "switchboard.control.messages.fault_line"): "shims ask nothing",
    ("daemon/attachment.py", "switchboard.control.messages.unexpected"): "as above",
    ("daemon/attachment.py", "switchboard.control.socket.serve_requests"): "as above",
    ("daemon/server.py", "switchboard.control.socket.serve_requests"): "as above",
    ("daemon/server.py", "switchboard.daemon.control.DaemonControl"): "as above",
    ("daemon/control.py", "switchboard.daemon.page.serve_page"): "few daemons serve a page",
    **{
        ("daemon/desk/home_notices.py", f"switchboard.{name}"): "few homes name a way to be told"
        for name in (
            *("pocket.notices.courier.Courier", "pocket.notices.notifier.Notifier"),
            *("pocket.notices.senders.sender_for", "pocket.notices.ways.Way"),
            *("pocket.notices.ways.read_way", "pocket.serving_note.url_for_phones"),
            "daemon.control.DaemonControl",
        )
    },
    **{
        ("cli/verbs/consent/approvals.py", f"switchboard.cli.verbs.parts.approving.{name}"): (
            "few have a device, and it takes HTTP and ciphers"
        )
        for name in ("device_list.device_list", "phone_serving.serve_phones")
    },
    ("daemon/control.py", "switchboard.daemon.desk.reports.CommandReports"): "as above",
    ("daemon/control.py", "switchboard.daemon.desk.reports.ServedFolder"): "as above",
    ("daemon/control.py", "switchboard.daemon.desk.services.STARTING"): "as above",
    ("daemon/control.py", "switchboard.daemon.desk.run_replies.reply"): "as above",
    ("daemon/control.py", "switchboard.daemon.desk.services.LocalServices"): "as above",
    **{
        (f"providers/agents/{place}.py", f"switchboard.providers.agents.servers.{name}"): why
        for place, name, why in (
            ("source", "host_trust.host_items", "it reads files that only trust is about"),
            ("listing", "host_trust.print_of", "most agents need no server of others"),
            ("listing", "hosts.HostPlaces", "as above"),
            ("listing", "hosts.variables_in_hosts", "as above"),
        )
    },
    ("daemon/server.py", "switchboard.settings.bridged.bridged"): "few clients are bridges",
    **{
        ("cli/verbs/serving/bridge.py", f"switchboard.{name}"): "the daemon has a board already"
        for name in (
            *("daemon.serve.run", "daemon.serve.serve_stdio", "settings.bridged.bridged"),
            "daemon.board.instructions.bridge_words",
        )
    },
    ("daemon/attachment.py", "switchboard.daemon.http_attachment.serve_handed_over"): "as above",
    **{
        (f"daemon/{name}.py", f"switchboard.daemon.board.open_logins.{what}"): "few want a login"
        for name, what in (
            ("board/engine", "open_logins"),
            ("board/sharing/shared_children", "open_logins"),
            ("desk/daemon_status", "login_status"),
        )
    },
    (
        "cli/verbs/serving/mcp.py",
        "switchboard.cli.verbs.parts.auth.commands.run_auth",
    ): "a client that is served logs in nowhere",
    (
        "cli/verbs/doctor.py",
        "switchboard.cli.verbs.parts.auth.checks.login_findings",
    ): "few workspaces have a remote server",
    (
        "cli/verbs/parts/approving/lasting_rules.py",
        "switchboard.daemon.desk.ruled_tools.ruled_tools",
    ): "most commands about approvals ask no server",
    (
        "cli/verbs/parts/board.py",
        "switchboard.cli.verbs.parts.own_board.ask_own_board",
    ): "whoever asks the daemon needs no board of its own",
    (
        "hosts/edits/edit.py",
        "switchboard.hosts.edits.yaml_edit",
    ): "one host of many has YAML, and its reader takes 15 ms to load",
    ("config/front_matter.py", "yaml"): "only agents and skills have front matter",
    ("config/toml_text.py", "tomllib"): "few workspaces have a TOML file",
    (
        "daemon/board/runtime.py",
        "switchboard.daemon.board.engine.Engine",
    ): "listing tools needs no engine",
    (
        "daemon/board/runtime.py",
        "switchboard.daemon.trees.board_trees.BoardTrees",
    ): "listing tools needs no engine",
    (
        "daemon/board/runtime.py",
        "switchboard.daemon.trees.own_trees.OwnTrees",
    ): "few servers follow, and few sessions move",
    ("children/trees/path_arguments.py", "urllib.parse.unquote"): "few arguments are addresses",
    (
        "daemon/board/assemble.py",
        "switchboard.sandbox.sandbox.platform_sandbox",
    ): "few are confined",
    (
        "core/privacy/secrets.py",
        "switchboard.core.privacy.secret_forms.forms_of",
    ): "many boards know no secret",
    ("daemon/board/secret_values.py", "urllib.parse.unquote"): "few have remote servers",
    ("daemon/board/secret_values.py", "urllib.parse.urlsplit"): "as above",
    ("settings/trust.py", "urllib.parse.urlsplit"): "as above",
    (
        "settings/trust.py",
        "switchboard.settings.consent.trusted_parts.trusted_now",
    ): "few servers come from a workspace",
    (
        "settings/load.py",
        "switchboard.settings.consent.trusted_parts.changes_in_words",
    ): "few of them change",
    ("settings/consent/trusted_parts.py", "hashlib.sha256"): "as above",
    ("settings/consent/folder_state.py", "hashlib.sha256"): "few are bound to a whole folder",
    ("settings/consent/lines/project_files.py", "tomllib"): "few entries run a project",
    ("settings/servers.py", "switchboard.settings.trust.origin_of"): "as above",
    (
        "settings/server_rules.py",
        "switchboard.settings.rules.follow_rules.judge_follow",
    ): "few servers follow",
    (
        "settings/placing/placement.py",
        "switchboard.settings.rules.follow_rules.standing_fault",
    ): "few servers follow",
    (
        "settings/servers.py",
        "switchboard.settings.fingerprints.in_development",
    ): "few servers come from a workspace",
    (
        "sandbox/server_sandbox.py",
        "switchboard.sandbox.sandbox.platform_sandbox",
    ): "few are confined",
    (
        "daemon/board/engine.py",
        "switchboard.daemon.board.guard.Guard",
    ): "few boards are guarded yet",
    ("daemon/board/sharing/shared_children.py", "switchboard.daemon.board.guard.Guard"): "as above",
    (
        "daemon/board/sharing/shared_children.py",
        "switchboard.receipts.book.CallBook",
    ): "listing tools needs none",
    (
        "daemon/board/sharing/shared_children.py",
        "switchboard.surface.results.result_bytes",
    ): "as above",
    (
        "daemon/sessions/login_path.py",
        "switchboard.procs.run.ProcessRun",
    ): "few hosts are started without a search path, and a first listing starts nothing",
    ("daemon/sessions/login_path.py", "switchboard.procs.spawn.SpawnSpec"): "as above",
    (
        "daemon/desk/used_tools.py",
        "switchboard.audit.usage.count.UsageCount",
    ): "few listings have a budget, and the log takes SQLite",
    (
        "children/listings/kept_words.py",
        "switchkit.locks.FolderLock",
    ): "a listing only reads, and everyone waits for the first one",
    **{
        (f"daemon/board/{place}", f"switchboard.daemon.board.run_service.{name}"): (
            "few boards have agents"
        )
        for place, name in (
            ("engine.py", "board_runs"),
            ("sharing/shared_children.py", "open_runs"),
        )
    },
    **{
        (f"providers/{place}", f"switchboard.{name}"): "what only runs is not loaded for a listing"
        for place, name in (
            ("suites/source.py", "providers.suites.build.build_suites"),
            ("suites/source.py", "providers.suites.provider.SuitesProvider"),
            ("suites/source.py", "providers.suites.natural.build.build_interpreters"),
            ("suites/source.py", "providers.suites.natural.build.build_model"),
            ("suites/source.py", "settings.trust.still_trusted"),
            ("suites/source.py", "providers.suites.words.telling.words_of"),
            ("suites/natural/build.py", "models.http.messages.MessagesModel"),
            ("suites/natural/build.py", "engines.codex.engine.CodexEngine"),
            ("suites/natural/build.py", "engines.claude.engine.ClaudeEngine"),
            ("commands/source.py", "providers.commands.provider.CommandsProvider"),
            ("commands/source.py", "sandbox.sandbox.platform_sandbox"),
            ("yard/source.py", "children.environment.base_environment"),
            ("yard/source.py", "children.environment.without_team"),
            ("yard/source.py", "providers.yard.threads.YardThreads"),
            ("yard/source.py", "providers.yard.provider.YardProvider"),
            ("agents/source.py", "providers.agents.building.build_agents"),
            ("find/source.py", "providers.find.provider.FindProvider"),
            ("find/source.py", "providers.find.ranking.Ranking"),
            ("find/source.py", "providers.find.unheard.unheard_of"),
            ("recall/source.py", "providers.recall.provider.RecallProvider"),
            ("direct/source.py", "children.listings.host_rules.refused_tools"),
            ("direct/source.py", "children.server_launches.ServerLaunches"),
            ("direct/source.py", "providers.direct.exposure.DirectExposure"),
            ("direct/source.py", "providers.direct.provider.DirectProvider"),
        )
    },
    **{
        (f"providers/{place}", f"switchboard.providers.{name}"): "the configuration needs no tools"
        for place, name in (
            ("commands/source.py", "commands.listing.judge_tools"),
            ("agents/source.py", "agents.codex_tools.specs.codex_specs"),
            ("agents/source.py", "agents.run_tools.specs.run_specs"),
            ("agents/source.py", "agents.work.engine_environment.engine_names"),
            ("yard/source.py", "yard.specs.yard_specs"),
            ("yard/source.py", "yard.specs.WORDS"),
        )
    },
    (
        "cli/verbs/doctor.py",
        "switchboard.cli.verbs.parts.vault.findings.vault_findings",
    ): "few have a vault",
    ("daemon/board/vaults.py", "switchboard.vault.opening.open_vault"): "few have a vault",
    ("daemon/board/vaults.py", "switchboard.vault.opening.open_file_vault"): "as above",
    ("vault/opening.py", "switchboard.vault.kv_vault.KvVault"): "few have a server for secrets",
    ("vault/keys/keychain.py", "*"): "of several keychains, the one that is there",
    (
        "runs/durable_engine.py",
        "switchboard.runs.dbos_engine.DbosEngine",
    ): "half a second and 50 MB, with the first run only",
    ("daemon/logs/telemetry.py", "switchboard.daemon.logs.otel.Telemetry"): "few export anything",
    ("daemon/serve.py", "uvloop"): "absent on some systems",
    ("shim/main.py", "switchboard.shim.start_daemon.start_daemon"): "mostly there is a daemon",
    ("shim/main.py", "switchboard.ipc.new_home.told"): "once in the life of a home",
    (
        "shim/kept_session.py",
        "switchboard.shim.aftermath.settle",
    ): "most daemons stay",
    ("daemon/serve.py", "switchboard.ipc.ledger.Ledger"): "mostly there is a daemon",
    ("platform/linux/processes.py", "ctypes"): "only a supervisor needs it, the reaper the rest",
    ("platform/linux/processes.py", "signal"): "slow to load; who only looks signals nobody",
    ("platform/linux/files.py", "ctypes"): "most disks and most callers need none",
    ("platform/linux/files.py", "tempfile"): "only old kernels have no files without a place",
    ("platform/linux/streams.py", "select"): "only whoever sweeps asks",
    ("files.py", "switchkit.platform.light.sync_file"): "few write for good",
    ("platform/light.py", "fcntl"): "only macOS needs it, and the shim loads the rest",
    ("processes.py", "signal.SIGKILL"): "as above",
    ("processes.py", "signal.SIGSTOP"): "as above",
    ("processes.py", "signal.SIGCONT"): "as above",
    ("processes.py", "switchkit.exits.wait_ended"): "as above",
    ("platform/linux/streams.py", "socket"): "whoever has one has loaded it",
    ("reaper.py", "switchkit.containers.begin_removal"): "few have servers in containers",
    ("containers.py", "json.loads"): "as above",
    ("containers.py", "json.dumps"): "as above",
    ("exits.py", "threading.Thread"): "only old kernels have no event for the end of a process",
    ("pipeline/schemas.py", "jsonschema_rs"): "it loads slowly, and listing needs no schema",
}

# What only one operating system has. `switchkit/platform` knows it, and tells the others.
SYSTEM_WORDS = (
    r"/proc\b|pidfd|prlimit|memfd_create|SO_PEERCRED|LOCAL_PEERCRED|AF_NETLINK|pipe2|SOCK_NONBLOCK"
    r"|SOCK_CLOEXEC|MSG_CMSG_CLOEXEC|PR_SET_|FICLONE|fallocate|sys\.platform|os\.uname"
    # The last two mean something else on each system: an option, and numbers of errors.
    r"|O_PATH|killpg|inotify|epoll|eventfd|waitid|\bss -|\blsof\b"
    r"|SO_REUSEADDR|create_server|errno (?:==|!=|in|not in) \(?\d"
)
MAY_SAY_SYSTEM_WORDS = (
    Allowance("switchkit/platform/*", set(), "it is the only place that knows the system"),
    Allowance("switchboard/sandbox/*", set(), "it lists what a sandbox shows and refuses"),
    Allowance("switchboard/cli/crash.py", set(), "a report of a crash names the system"),
)
# What leaves the letters of a path as they were given, which macOS takes for others too.
PATH_WORDS = r"os\.path\.realpath|(?<!__file__\))\.resolve\(\)"
MAY_SAY_PATH_WORDS = (
    Allowance("switchkit/platform/*", set(), "it makes the one true spelling from them"),
    Allowance("switchboard/sandbox/landlock/*", set(), "Linux alone has it"),
    Allowance("switchboard/sandbox/bubblewrap.py", set(), "as above"),
    Allowance("switchboard/sandbox/outlets.py", set(), "as above"),
)
# The shim and the reaper start in a blink, so what they stand on loads none of these.
LIGHT = (
    *("switchboard/shim/*", "switchboard/ipc/*", "switchkit/files.py", "switchkit/sockets.py"),
    "switchkit/locks.py",
    *("switchkit/daemons.py", "switchkit/processes.py", "switchkit/exits.py"),
    "switchkit/reaper.py",
    *(
        "switchkit/platform/__init__.py",
        "switchkit/platform/light.py",
        "switchkit/platform/paths.py",
    ),
    *("switchkit/platform/processes.py", "switchkit/platform/linux/processes.py"),
)
TOO_HEAVY = {"ctypes", "typing", "pathlib", "socket", "subprocess", "json", "asyncio", "contextlib"}

MAX_LINES = 400
