// The TypeScript SDK's client against a server over HTTP. Prints what it saw as one line of JSON.
// Usage: typescript_client.cjs MODULES URL TOKEN
const { createRequire } = require("node:module");
const path = require("node:path");

const [modules, url, token] = process.argv.slice(2);
const load = createRequire(path.join(modules, "index.js"));
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = load(
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
);
const { ToolListChangedNotificationSchema } = load("@modelcontextprotocol/sdk/types.js");

async function main() {
  const headers = { Authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = new Client({ name: "typescript", version: "1" });
  const changed = new Promise((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve(true));
  });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const args = { action: "call", subtool: "echo", args: { text: "hä" } };
  const result = await client.callTool({ name: "echo", arguments: args });
  console.log("ready");
  const seen = { tools: tools.map((tool) => tool.name), text: result.content[0].text };
  console.log(JSON.stringify({ ...seen, changed: await changed }));
  await transport.terminateSession();
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
