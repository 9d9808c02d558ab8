// An authorization server (oidc-provider, a certified one) and an MCP server that wants its tokens.
//
//   node oauth_server.mjs '{"port": 4001, "mcpPort": 4002, "ttl": 3600, …}'
//
// Says on stdout, as lines of JSON, what the authorization server did and what the MCP server was
// asked. Reads lines of JSON on stdin: {"tokenStatus": 503} makes the token endpoint fail so, and
// {"groups": {"ada": ["writers"]}} is what tokens say from then on. With "gateway", the address of
// another resource, it gives signed tokens for that, too; "jwks" are the keys that it signs with.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import Provider, { errors } from "oidc-provider";

const given = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${given.port}`;
const base = `http://127.0.0.1:${given.mcpPort}`;
const resource = `${base}/mcp`;
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
const client = (more) => ({
  application_type: "native",
  redirect_uris: ["http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
  response_types: ["code"],
  ...more,
});
const behaviour = { tokenStatus: 0, rotates: true, groups: given.groups ?? {} };

const provider = new Provider(issuer, {
  ...(given.jwks ? { jwks: given.jwks } : {}),
  extraTokenClaims: (_, token) => ({
    groups: behaviour.groups[token.accountId] ?? [],
    preferred_username: `${token.accountId} of the team`,
  }),
  clients: [
    client({ client_id: "public-client", token_endpoint_auth_method: "none" }),
    ...(given.gateway
      ? [
          client({
            client_id: "page-client",
            token_endpoint_auth_method: "none",
            redirect_uris: [new URL("/people/callback", given.gateway).href],
          }),
        ]
      : []),
    client({ client_id: "secret-client", client_secret: given.secret ?? "unused-secret-of-a-client" }),
  ],
  scopes: ["openid", "offline_access", "tools.read", "tools.write"],
  ...(given.gateway
    ? { claims: { openid: ["sub"], profile: ["preferred_username", "groups"] }, conformIdTokenClaims: false }
    : {}),
  pkce: { required: () => true },
  features: {
    devInteractions: { enabled: true },
    deviceFlow: { enabled: true },
    registration: { enabled: true },
    registrationManagement: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, wanted) => {
        if (given.gateway && wanted === given.gateway) {
          return { scope: "tools.read", audience: wanted, accessTokenFormat: "jwt" };
        }
        if (wanted !== resource) throw new errors.InvalidTarget();
        return { scope: "tools.read tools.write", audience: resource, accessTokenFormat: "opaque" };
      },
    },
  },
  // With rotation, a refresh token that comes twice ends everything that was granted with it.
  rotateRefreshToken: () => behaviour.rotates,
  issueRefreshToken: async () => given.refresh ?? true,
  ttl: {
    AccessToken: () => given.ttl ?? 3600,
    RefreshToken: given.refreshTtl ?? 86400,
    Grant: 86400,
    Session: 86400,
    Interaction: 600,
    DeviceCode: 300,
  },
  findAccount: async (_, id) => ({
    accountId: id,
    claims: async () => ({
      sub: id,
      groups: behaviour.groups[id] ?? [],
      preferred_username: `${id} of the team`,
    }),
  }),
});
provider.on("grant.success", (ctx) => {
  const { grant_type, scope, resource: wanted } = ctx.oidc.params;
  say({ did: "grant", type: grant_type, scope, resource: wanted, client: ctx.oidc.client.clientId });
});
provider.on("grant.error", (ctx, error) => say({ did: "refusal", error: error.message }));
provider.on("grant.revoked", () => say({ did: "grant-revoked" }));
provider.on("registration_create.success", (_, made) => say({ did: "registration", client: made.clientId }));
provider.on("registration_delete.success", (_, gone) => say({ did: "unregistration", client: gone.clientId }));
provider.on("server_error", (_, error) => say({ did: "failure", error: error.stack }));
provider.use(async (ctx, next) => {
  if (ctx.path === "/token" && behaviour.tokenStatus) {
    say({ did: "token-request" });
    ctx.status = behaviour.tokenStatus;
    ctx.body = { error: behaviour.tokenError ?? "server_error", error_description: "canary-of-an-error" };
    return;
  }
  if (ctx.path === "/token/revocation") say({ did: "revocation" });
  await next();
  if (ctx.path === "/jwks") {
    say({ did: "keys" });
    if (behaviour.jwks) ctx.body = behaviour.jwks;
  }
  if (given.withoutS256 && ctx.path.startsWith("/.well-known/")) {
    delete ctx.body.code_challenge_methods_supported;
  }
});
provider.listen(given.port, "127.0.0.1");

// The MCP server

const tools = [
  {
    name: "whoami",
    description: "Tells who is logged in.",
    inputSchema: { type: "object" },
    // Its words are its own: reading them ends no trust.
    annotations: { openWorldHint: false },
  },
  { name: "write", description: "Needs the scope to write.", inputSchema: { type: "object" } },
];
const tell = (text) => ({ content: [{ type: "text", text }] });

function mcpServer(token) {
  const server = new Server({ name: "wants-tokens", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, () => tell(`logged in as ${token.accountId}`));
  return server;
}

function refuse(res, status, more) {
  const about = `${base}/.well-known/oauth-protected-resource/mcp`;
  res.setHeader("WWW-Authenticate", `Bearer ${more}resource_metadata="${about}"`);
  res.writeHead(status, { "Content-Type": "application/json" }).end('{"error":"no"}');
}

createServer(async (req, res) => {
  if (req.url.startsWith("/.well-known/oauth-protected-resource")) {
    const about = { resource, authorization_servers: [issuer], scopes_supported: ["tools.read"] };
    res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(about));
    return;
  }
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const shown = req.headers.authorization ?? "";
  const token = shown.startsWith("Bearer ")
    ? await provider.AccessToken.find(shown.slice("Bearer ".length))
    : undefined;
  const body = text ? JSON.parse(text) : undefined;
  const who = token?.accountId;
  say({ did: "request", method: body?.method ?? req.method, shown: Boolean(shown), ok: Boolean(token), who });
  if (!token) return refuse(res, 401, "");
  if (body?.method === "tools/call" && body.params.name === "write" && !token.scope?.includes("tools.write")) {
    return refuse(res, 403, 'error="insufficient_scope", scope="tools.write", ');
  }
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  const server = mcpServer(token);
  res.on("close", () => transport.close());
  await server.connect(transport);
  await transport.handleRequest(req, res, body);
}).listen(given.mcpPort, "127.0.0.1", () => say({ did: "listen" }));

createInterface({ input: process.stdin }).on("line", (line) => {
  Object.assign(behaviour, JSON.parse(line));
  say({ did: "changed" });
}).on("close", () => process.exit(0));
