#!/usr/bin/env node
// A server of one tool, which says which file it is, and what the environment tells of folders.
const lines = require("readline").createInterface({ input: process.stdin });
const answers = {
  initialize: (asked) => ({
    protocolVersion: asked.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "hello", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [{ name: "where", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: `from ${__filename}` }] }),
};
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const known = answers[method];
  const told = known
    ? { result: known(params ?? {}) }
    : { error: { code: -32601, message: "no such method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...told }));
});
