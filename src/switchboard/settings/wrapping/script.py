"""The script of a wrapper: an MCP server of its own that shows `natural_language` alone."""

import json

_SCRIPT = """\
// An MCP server on stdin and stdout that shows one tool, `natural_language`, for the child
// `original/.mcp.json`. Written by `switchboard wrap`; `switchboard unwrap` takes it away.
//
// Switchboard does the work: it reads CLAUDE.md, asks the model, starts the child, calls the one
// subtool that was chosen, and ends the child. Behind Switchboard this file is not started at all.
import {{ spawn }} from "node:child_process";
import {{ dirname, resolve }} from "node:path";
import {{ fileURLToPath }} from "node:url";

const name = {name};
const workspace = resolve(dirname(fileURLToPath(import.meta.url)), {above});
const program = process.env.SWITCHBOARD_PROGRAM || "switchboard";

const server = spawn(program, ["natural", "--workspace", workspace, "--", name], {{
  stdio: "inherit",
}});
server.on("error", (error) => {{
  console.error(`${{name}}: ${{program}} cannot be started (${{error.code}});`);
  console.error("install Switchboard, or name its program with SWITCHBOARD_PROGRAM");
  process.exit(1);
}});
// The server ends the child, so it has to hear what we hear, and we end after it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {{
  process.on(signal, () => server.kill(signal));
}}
server.on("exit", (code, signal) => process.exit(signal ? 1 : code));
"""


def wrapper_script(name: str, above: str) -> str:
    """The text of the script. `above` is the way from its folder to the workspace."""
    return _SCRIPT.format(name=_literal(name), above=_literal(above))


def _literal(text: str) -> str:
    """A string of JavaScript."""
    return json.dumps(text)
