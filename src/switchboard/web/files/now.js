// Now: who is connected, what runs behind it, and what waits.

import { ask } from "./api.js";
import { bytes, h, keyed, moment, now as clockNow, sureButton, table } from "./dom.js";
import { command, doing, known, refresh, waits } from "./state.js";

const MOST_ERROR = 200;
const parts = {};

const cut = (text) => (text.length > MOST_ERROR ? `${text.slice(0, MOST_ERROR)}…` : text);

const nameOf = (child) => [h("b", {}, child.name), child.account ? ` as ${child.account}` : "", child.worktree || child.root ? ` in ${child.worktree || child.root}` : ""];

function stateOf(child) {
  if (!child.is_running) return h("span", { class: "dim" }, "not running");
  return h("span", { class: "good" }, child.pid ? `process ${child.pid}` : "remote");
}

function childActions(child) {
  const change = (action, done) => () => doing(() => ask("child", { action, name: child.name, workspace: child.workspace }), `${child.name}: ${done}`).then(() => refresh("status", 0));
  if (!child.is_running) return h("button", { type: "button", "data-act": "start", onclick: change("start", "started"), "aria-label": `Start ${child.name}` }, "Start");
  return h("span", { class: "row" },
    sureButton("Restart", "Sure?", change("restart", "restarted"), { "data-act": "restart" }),
    sureButton("Stop", "Sure?", change("stop", "stopped"), { class: "stop", "data-act": "stop" }));
}

function make() {
  parts.tiles = h("ul", { class: "tiles" });
  parts.problems = h("div");
  parts.sessions = table("Sessions", [
    ["Client", (each) => h("b", {}, each.client || each.via || "unknown")],
    ["Workspace", (each) => each.workspace],
    ["Protocol", (each) => each.protocol || "-"],
    ["Since", (each) => moment(each.began)],
    ["Calls", (each) => each.calls, "n"],
    ["Under way", (each) => each.under_way, "n"],
    ["Last failure", (each) => (each.last_failure ? h("span", { class: "bad" }, cut(each.last_failure)) : "-")],
  ]);
  parts.children = table("Servers", [
    ["Server", nameOf],
    ["State", stateOf],
    ["Of", (each) => [each.boards.length ? `board ${each.boards.join(", ")}` : "-", each.clients.length ? `: ${each.clients.join(", ")}` : ""]],
    ["Memory", (each) => (each.pid ? bytes(each.memory_bytes) : "-"), "n"],
    ["Calls", (each) => each.calls, "n"],
    ["Under way", (each) => each.under_way, "n"],
    ["Last error", (each) => (each.last_error ? [h("span", { class: "bad" }, cut(each.last_error)), each.last_error_at ? [" ", moment(each.last_error_at), " ago"] : ""] : "-")],
    ["Actions", childActions, "act"],
  ]);
  parts.boards = table("Boards", [
    ["Board", (each) => each.number, "n"],
    ["Workspace", (each) => each.workspace],
    ["Servers", (each) => each.servers, "n"],
    ["Tools", (each) => each.tools, "n"],
    ["Sessions", (each) => each.sessions, "n"],
    ["Left out", (each) => [...each.untrusted.map((name) => h("div", { class: "warn" }, h("b", {}, name), ": ", h("a", { href: "#queue" }, "waits for your trust"))),
      ...Object.entries(each.left_out).map(([name, why]) => h("div", { class: "warn" }, h("b", {}, name), `: ${why}`))]],
  ]);
  parts.logins = table("Logins", [
    ["Server", (each) => [h("b", {}, each.server), each.account ? ` as ${each.account}` : ""]],
    ["State", (each) => h("span", { class: { valid: "good", expired: "warn" }[each.state] ?? "bad" }, each.state)],
    ["Issuer", (each) => each.issuer],
    ["Until", (each) => (each.expires_at ? new Date(each.expires_at * 1000).toLocaleString() : "-")],
  ]);
  parts.runs = table("Runs", [
    ["Run", (each) => h("a", { href: `#runs/${each.id}` }, each.id)],
    ["Agent", (each) => each.agent],
    ["Engine", (each) => each.engine],
    ["State", (each) => each.state],
    ["Since", (each) => moment(each.began)],
    ["Workspace", (each) => each.workspace],
    ["Doing", (each) => each.doing || "-"],
  ]);
  const stop = (servers, done) => () => doing(() => ask("stop-calls", { servers }), done);
  parts.services = table("Services", [
    ["Service", (each) => h("b", {}, each.service)],
    ["Project", (each) => each.project],
    ["Branch", (each) => each.branch],
    ["State", (each) => h("span", { class: each.phase === "ready" ? "good" : "warn" }, each.phase, each.reason ? `: ${each.reason}` : "")],
    ["Port", (each) => each.port ?? "-", "n"],
  ]);
  return h("div", {}, parts.tiles, parts.problems,
    h("div", { class: "row" },
      sureButton("Stop all calls", "Sure? Every call, run and question ends", stop(false, "Everything was stopped."), { class: "stop", "data-act": "stop-calls" }),
      sureButton("Stop all calls and servers", "Sure? Servers end too", stop(true, "Everything was stopped."), { class: "stop" })),
    h("h2", {}, "Sessions"), parts.sessions.element,
    h("h2", {}, "Servers"), parts.children.element,
    (parts.runsTitle = h("h2", {}, "Runs of agents")), parts.runs.element,
    (parts.servicesTitle = h("h2", {}, h("a", { href: "#yard" }, "Services"))), parts.services.element,
    (parts.loginsTitle = h("h2", {}, "Logins")), parts.logins.element,
    h("h2", {}, "Boards"), parts.boards.element);
}

// Ages go on by themselves: only what is new makes a new row.
const steady = (items) => items.map(({ age_s, ...each }) => ({ ...each, began: Math.round((clockNow() - age_s) / 2) * 2 }));

function show() {
  const services = known("services")?.report?.services ?? [];
  parts.servicesTitle.hidden = parts.services.element.hidden = !services.length;
  parts.services.update(services, (each) => [each.root, each.branch, each.service].join("\n"), "");
  const status = known("status");
  if (!status) return;
  const running = status.children.filter((each) => each.is_running);
  const configured = status.boards.reduce((sum, each) => sum + each.servers, 0);
  const [number, sessions, under] = [waits(), status.sessions.length, status.calls_under_way];
  keyed(parts.tiles, [
    [number === 1 ? "waits for your answer" : "wait for your answer", number, "#queue", number > 0],
    [sessions === 1 ? "session" : "sessions", sessions],
    [running.length === 1 ? "server running" : "servers running", running.length],
    [under === 1 ? "call under way" : "calls under way", under],
    ["memory of servers", bytes(running.reduce((sum, each) => sum + each.memory_bytes, 0))],
    ["memory of the daemon", bytes(status.memory_bytes)],
  ], ([name]) => name, ([name, value, to, hot]) => h("li", { class: hot ? "hot" : null }, h("b", {}, value), to ? h("a", { href: to }, name) : name));
  const problems = status.boards.filter((each) => each.problem).map((each) => h("p", { class: "card bad" }, `${each.workspace}: its files cannot be used now: ${each.problem}`));
  if (status.vault === "locked") problems.push(h("p", { class: "card warn" }, "The vault is locked: servers that need its secrets do not start. ", h("code", {}, command("vault", "unlock"))));
  parts.problems.replaceChildren(...problems);
  parts.sessions.update(steady(status.sessions), (each) => each.id, "No client is connected. Start your coding agent, or type: switchboard setup");
  parts.children.update([...status.children].map(({ age_s, ...each }) => ({ ...each, memory_bytes: Math.round(each.memory_bytes / (1 << 20)) * (1 << 20) }))
    .sort((one, other) => other.is_running - one.is_running || one.name.localeCompare(other.name)),
    (each) => [each.name, each.account, each.workspace, each.root, each.session, each.boards, each.apart].join("\n"), configured ? "No server runs: each is started by its first call." : status.boards.length ? "No servers yet. Type: switchboard add" : "No server runs, because no client is connected.");
  parts.runsTitle.hidden = parts.runs.element.hidden = !status.runs.length;
  parts.runs.update(steady(status.runs), (each) => each.id, "");
  parts.loginsTitle.hidden = parts.logins.element.hidden = !status.logins.length;
  parts.logins.update(status.logins, (each) => [each.server, each.account].join("\n"), "");
  parts.boards.update(status.boards.map(({ age_s, ...each }) => each), (each) => each.number, "No configuration is in use.");
}

// Nobody tells when a service changes.
setInterval(() => !document.hidden && parts.tiles?.isConnected && refresh("services", 0), 15000);

export default { name: "now", topics: ["status", "approvals", "services"], make, show };
