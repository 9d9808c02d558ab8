// A server made with the TypeScript SDK v2: links, embedded resources and a tool that breaks.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const text = (text) => ({ type: "text", text });

serveStdio(() => {
  const about = { name: "links", version: "1.0.0" };
  const server = new McpServer(about, { instructions: "It is made with the TypeScript SDK v2." });
  server.registerTool(
    "sum",
    {
      title: "Sum",
      description: "Adds numbers.",
      inputSchema: z.object({ numbers: z.array(z.number()) }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ numbers }) => {
      const sum = numbers.reduce((one, other) => one + other, 0);
      return { content: [text(JSON.stringify({ sum }))], structuredContent: { sum } };
    },
  );
  server.registerTool("breaks", { description: "Breaks.", inputSchema: z.object({}) }, async () => {
    throw new Error("it broke ☠");
  });
  server.registerTool("link", { description: "A link.", inputSchema: z.object({}) }, async () => ({
    content: [
      { type: "resource_link", uri: "file:///x.txt", name: "x", mimeType: "text/plain" },
      { type: "resource", resource: { uri: "mem://a", text: "A" } },
    ],
  }));
  const args = { title: "Hello", description: "Greets.", argsSchema: z.object({ name: z.string() }) };
  server.registerPrompt("hello", args, ({ name }) => ({
    messages: [{ role: "user", content: text(`Hello, ${name}`) }],
  }));
  const note = { title: "Note", mimeType: "text/plain" };
  server.registerResource("note", "note://1", note, async (uri) => ({
    contents: [{ uri: uri.href, text: "a note" }],
  }));
  return server;
});
