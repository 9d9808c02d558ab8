// A client made with the TypeScript SDK: it lists a server's tools, calls the given ones, and
// writes what came back as one line of JSON.
//
//   node sdk_client.mjs v1|v2 legacy|auto|<version> '[{"name": ..., "arguments": ...}]' COMMAND...
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";

const [sdk, era, calls, command, ...args] = process.argv.slice(2);
const info = { name: `typescript-${sdk}`, version: "1" };
const mode = era === "legacy" || era === "auto" ? era : { pin: era };
const client =
  sdk === "v1" ? new ClientV1(info) : new ClientV2(info, { versionNegotiation: { mode } });
const Stdio = sdk === "v1" ? StdioV1 : StdioV2;
await client.connect(new Stdio({ command, args, env: process.env, stderr: "inherit" }));

const { tools } = await client.listTools();
const results = [];
for (const call of JSON.parse(calls)) {
  results.push(await client.callTool(call));
}
const report = {
  server: client.getServerVersion()?.name,
  version: sdk === "v2" ? client.getNegotiatedProtocolVersion() : null,
  tools: tools.map((tool) => tool.name),
  results,
};
await client.close();
process.stdout.write(`${JSON.stringify(report)}\n`);
