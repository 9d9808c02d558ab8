// Calls: what runs now and what ended, as a strip of time and as a table; one call in full.

import { ask } from "./api.js";
import { bytes, chartWidth, clock, facts, h, keyed, moment, now, s, span, table } from "./dom.js";
import { doing, known, refresh } from "./state.js";

const AT_ONCE = 200;
const HIGH = 60;
const parts = {};
const wanted = { tool: "", session: "", server: "", outcome: "", minutes: "" };
let last = AT_ONCE;
let calls = [];
let open = "";

const took = (call) => (call.ended_at || now()) - call.came_at;
const isGood = (call) => call.state === "ok";
const kindOf = (call) => (!call.ended_at ? "warn" : isGood(call) ? "good" : "bad");
const outcomeOf = (call) => (!call.ended_at ? "running" : isGood(call) ? "ok" : "failed");
const serverOf = (call) => call.suite || call.tool;

function filtered() {
  const since = wanted.minutes ? now() - wanted.minutes * 60 : 0;
  return calls.filter((each) => (!wanted.server || serverOf(each) === wanted.server) && each.came_at >= since && (!wanted.outcome || outcomeOf(each) === wanted.outcome));
}

function field(name, words, input) {
  input.addEventListener("change", () => { wanted[name] = input.value.trim(); name === "tool" || name === "session" ? refresh("calls", 0) : draw(); });
  return h("label", {}, words, input);
}

function make() {
  parts.strip = h("div", { class: "card" });
  parts.full = h("div", { "aria-live": "polite" });
  parts.servers = h("select", {});
  parts.sessions = h("select", {});
  parts.chain = h("span", { role: "status" });
  parts.more = h("button", { type: "button", onclick: () => { last *= 4; refresh("calls", 0); } }, "Older calls");
  parts.table = table("Calls", [
    ["When", (each) => h("span", { title: new Date(each.came_at * 1000).toLocaleString() }, clock(each.came_at))],
    ["Tool", (each) => h("button", { type: "button", class: "link", "data-act": "open", onclick: () => { location.hash = `calls/${encodeURIComponent(each.id)}`; } }, each.tool)],
    ["Server", (each) => (each.suite === each.tool ? "-" : each.suite || "-")],
    ["Client", (each) => each.client || each.session],
    ["Outcome", (each) => h("span", { class: kindOf(each) }, each.state, each.reason ? `: ${each.reason}` : "")],
    ["Queue", (each) => (each.queue_s ? span(each.queue_s) : "-"), "n"],
    ["Person", (each) => (each.human_s ? span(each.human_s) : "-"), "n"],
    ["Work", (each) => (each.ended_at ? span(each.work_s) : moment(each.came_at)), "n"],
  ]);
  const choices = (list) => list.map(([value, words]) => h("option", { value }, words));
  return h("div", {},
    h("h2", {}, "Calls"),
    h("div", { class: "row" },
      field("tool", "Tool ", h("input", { size: "14", placeholder: "any, or with *" })),
      field("server", "Server ", parts.servers),
      field("session", "Session ", parts.sessions),
      field("outcome", "Outcome ", h("select", {}, choices([["", "any"], ["ok", "ok"], ["failed", "failed"], ["running", "under way"]]))),
      field("minutes", "Since ", h("select", {}, choices([["", "any time"], ["5", "5 minutes"], ["60", "an hour"], ["1440", "a day"]])))),
    parts.strip, parts.full, parts.table.element,
    h("div", { class: "row" }, parts.more,
      h("button", { type: "button", onclick: exported }, "Export the audit log"),
      h("button", { type: "button", onclick: verified }, "Check that the log is whole"), parts.chain));
}

// When calls came and how long they took, the latest at the right.
function strip(items) {
  const from = Math.min(...items.map((each) => each.came_at)), to = now(), wide = chartWidth();
  const x = (at) => ((at - from) / Math.max(to - from, 1)) * wide;
  const bars = items.slice(-400).map((each) => {
    const long = Math.max(took(each), 0.001);
    const high = Math.min(HIGH - 18, 6 + Math.log2(1 + long * 100) * 4);
    return s("rect", { x: x(each.came_at).toFixed(1), y: (HIGH - 14 - high).toFixed(1), width: Math.max(2, x(each.ended_at || to) - x(each.came_at)).toFixed(1), height: high.toFixed(1),
      fill: `var(--${kindOf(each)})`, opacity: "0.75" }, s("title", {}, `${each.tool}, ${span(long)}, ${each.state}`));
  });
  return s("svg", { class: "chart", viewBox: `0 0 ${wide} ${HIGH}`, role: "img", "aria-label": `${items.length} calls since ${clock(from)}` },
    s("line", { x1: 0, x2: wide, y1: HIGH - 13.5, y2: HIGH - 13.5, stroke: "var(--line)" }), bars,
    s("text", { x: 0, y: HIGH - 2 }, clock(from)), s("text", { x: wide, y: HIGH - 2, "text-anchor": "end" }, "now"));
}

function chosen(select, names, value) {
  keyed(select, ["", ...names], (each) => each || "any", (each) => h("option", { value: each }, each || "any"));
  select.value = value;
}

function draw() {
  const items = filtered();
  parts.strip.hidden = !items.length;
  if (items.length) parts.strip.replaceChildren(strip(items));
  chosen(parts.servers, [...new Set(calls.map(serverOf))].sort(), wanted.server);
  chosen(parts.sessions, [...new Set([...(known("status")?.sessions ?? []).map((each) => each.id), ...calls.map((each) => each.session)])].filter(Boolean).sort(), wanted.session);
  parts.table.update([...items].reverse(), (each) => each.id, calls.length ? "No call is like that." : "Nothing has been called yet.");
  parts.more.hidden = calls.length < last;
}

async function show() {
  const found = await doing(() => ask("calls", { past: true, last, tool: wanted.tool, session: wanted.session }));
  if (!found) return;
  calls = found.calls;
  draw();
  if (open) showFull();
}

const recordOf = (row) => { try { return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(row.body), (each) => each.charCodeAt(0)))); } catch { return { event: "unreadable" }; } };

async function showFull() {
  const call = calls.find((each) => each.id === open);
  const found = await doing(() => ask("audit", { which: open }));
  if (!found || (!call && !found.rows.length)) { parts.full.replaceChildren(); return; }
  const records = found.rows.map((row) => ({ seq: row.seq, ...recordOf(row) }));
  const simple = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  parts.full.replaceChildren(h("article", { "aria-label": `Call ${open}` },
    h("div", { class: "row" }, h("h3", {}, call?.tool ?? records[0]?.tool ?? open), h("button", { type: "button", onclick: () => { location.hash = "calls"; } }, "Close")),
    call ? facts([["id", call.id], ["client", call.client], ["session", call.session], ["workspace", call.workspace], ["outcome", [call.state, call.reason].filter(Boolean).join(": ")],
      ["in the queue", span(call.queue_s)], ["a person decided for", span(call.human_s)], ["work", span(call.work_s)], ["answer", call.answer], ["given up", call.given_up], ["repeats", call.repeats]]) : "",
    records.length ? records.map((record) => h("details", {}, h("summary", {}, `${record.seq} ${record.event} ${record.ts ?? ""}`),
      facts(Object.entries(record).filter(([name]) => name !== "seq" && name !== "event").map(([name, value]) => [name, /^bytes_/.test(name) ? bytes(value) : simple(value)]))))
      : h("p", { class: "dim" }, "The audit log has no record of it: it only reads, or the gate is off.")));
}

function go([id = ""]) {
  open = id;
  if (open) showFull();
  else parts.full.replaceChildren();
}

async function verified() {
  parts.chain.textContent = "checking…";
  const found = await doing(() => ask("verify"));
  if (!found) { parts.chain.textContent = ""; return; }
  const wrong = found.findings ?? [];
  parts.chain.className = wrong.length ? "bad" : "good";
  parts.chain.replaceChildren(...(wrong.length ? wrong.map((each) => h("span", {}, `${each.kind}: ${each.says} `)) : [`The log is whole: ${found.records} records.`]));
}

// Every record as a line of JSON, in a file.
async function exported() {
  const lines = [];
  for (let after = 0; ;) {
    const found = await doing(() => ask("audit-after", { after, tool: wanted.tool, session: wanted.session }));
    if (!found || found.end <= after) break;
    lines.push(...found.rows.map((row) => JSON.stringify({ seq: row.seq, ...recordOf(row) })));
    after = found.end;
  }
  const link = h("a", { download: "switchboard-audit.jsonl" });
  link.href = URL.createObjectURL(new Blob([lines.join("\n"), "\n"], { type: "application/jsonl" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export default { name: "calls", topics: ["calls"], make, show, go };
