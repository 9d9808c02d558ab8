// A server made with the TypeScript SDK, with one tool that echoes.
//
//   node sdk_server.mjs v1          the SDK of the handshake era
//   node sdk_server.mjs v2          serves both eras
//   node sdk_server.mjs v2-modern   refuses a handshake
import { Server as ServerV1 } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Server as ServerV2 } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const sdk = process.argv[2];
const info = { name: `typescript-${sdk}`, version: "1" };
const options = { capabilities: { tools: {} } };
const inputSchema = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
};
const list = () => ({ tools: [{ name: "echo", description: "Says it again.", inputSchema }] });
const call = ({ params }) => ({
  content: [{ type: "text", text: `echo: ${params.arguments.text}` }],
});

if (sdk === "v1") {
  const server = new ServerV1(info, options);
  server.setRequestHandler(ListToolsRequestSchema, list);
  server.setRequestHandler(CallToolRequestSchema, call);
  await server.connect(new StdioServerTransport());
} else {
  const make = () => {
    const server = new ServerV2(info, options);
    server.setRequestHandler("tools/list", list);
    server.setRequestHandler("tools/call", call);
    return server;
  };
  serveStdio(make, { legacy: sdk === "v2-modern" ? "reject" : "serve" });
}
