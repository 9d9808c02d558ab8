// Savings: what models read of servers against all their tools, and what was used.

import { ask } from "./api.js";
import { chartWidth, h, s, table } from "./dom.js";
import { commandIn, doing, known, need } from "./state.js";

const ROW = 24;
const parts = {};
let days = "30";
let place = "";

const number = (value) => Math.round(value).toLocaleString();
const time = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

function make() {
  parts.where = h("select", { onchange: (event) => { place = event.target.value; show(); } });
  const span = h("select", { onchange: (event) => { days = event.target.value; show(); } }, ["7", "30", "90"].map((each) => h("option", { value: each }, `${each} days`)));
  span.value = days;
  parts.tiles = h("ul", { class: "tiles" });
  parts.tokens = h("div", { class: "card" });
  parts.daily = h("div", { class: "card" });
  parts.unused = h("div");
  parts.tools = table("Tools", [
    ["Tool", (each) => h("b", {}, each.tool)],
    ["Server", (each) => each.suite || each.server || "-"],
    ["Calls", (each) => number(each.calls), "n"],
    ["Errors", (each) => h("span", { class: each.errors ? "bad" : null }, number(each.errors)), "n"],
    ["Half within", (each) => time(each.p50_ms), "n"],
    ["95 % within", (each) => time(each.p95_ms), "n"],
    ["Tokens of results", (each) => number(each.tokens), "n"],
  ]);
  return h("div", {}, h("h2", {}, "Savings"),
    h("div", { class: "row" }, h("label", {}, "Folder ", parts.where), h("label", {}, "Of the last ", span)),
    parts.tiles, h("h2", {}, "Tokens that a model reads of each server"), parts.tokens,
    h("h2", {}, "Calls by day"), parts.daily, h("h2", {}, "Never used"), parts.unused, h("h2", {}, "Tools"), parts.tools.element);
}

// Two bars for each server: as it is shown, and with all its tools.
function tokenChart(servers) {
  const most = Math.max(1, ...servers.map((each) => Math.max(each.direct_tokens, each.suite_tokens)));
  const wide = chartWidth(), label = wide < 600 ? 96 : 180;
  const x = (value) => (value / most) * (wide - label - 120);
  return s("svg", { class: "chart", viewBox: `0 0 ${wide} ${servers.length * ROW * 1.5 + 4}`, role: "img", "aria-label": "Tokens of each server as a suite, and with all its tools" },
    servers.map((each, at) => {
      const y = at * ROW * 1.5 + 4;
      return [s("text", { x: 0, y: y + 16 }, each.server.slice(0, label / 7)),
        s("rect", { class: "a", x: label, y, width: Math.max(1, x(each.suite_tokens)), height: 11 }), s("text", { x: label + x(each.suite_tokens) + 6, y: y + 10 }, `${number(each.suite_tokens)} now`),
        s("rect", { class: "b", x: label, y: y + 13, width: Math.max(1, x(each.direct_tokens)), height: 11 }), s("text", { x: label + x(each.direct_tokens) + 6, y: y + 23 }, each.tools ? `${number(each.direct_tokens)} all ${each.tools} tools` : "not known until it has run")];
    }));
}

function dayChart(list) {
  const most = Math.max(1, ...list.map((each) => each.calls));
  const all = chartWidth(), wide = Math.min(60, (all - 20) / list.length), high = 140;
  return s("svg", { class: "chart", viewBox: `0 0 ${all} ${high + 32}`, role: "img", "aria-label": "Calls of each day, and how many failed" },
    list.map((each, at) => {
      const tall = (each.calls / most) * high, bad = (each.errors / most) * high, x = at * wide + 10;
      return [s("rect", { class: "a", x, y: high + 12 - tall, width: wide * 0.7, height: tall }, s("title", {}, `${each.day}: ${each.calls} calls, ${each.errors} errors`)),
        s("rect", { fill: "var(--bad)", x, y: high + 12 - bad, width: wide * 0.7, height: bad }),
        wide > 28 || at % 5 === 0 ? s("text", { x, y: high + 27 }, each.day.slice(5)) : "",
        wide > 28 ? s("text", { x, y: high + 8 - tall }, each.calls) : ""];
    }));
}

export function folders(select, value) {
  const all = [...new Set((known("status")?.boards ?? []).map((each) => each.workspace))];
  const here = all.includes(value) ? value : all[0] ?? "";
  select.replaceChildren(...all.map((each) => h("option", { value: each }, each)));
  select.value = here;
  return here;
}

const nothing = (words) => h("p", { class: "empty" }, words);

async function show() {
  await need("status");
  place = folders(parts.where, place);
  if (!place) { parts.tiles.replaceChildren(); parts.unused.replaceChildren(nothing("No client works anywhere now. Start one, and its folder is counted.")); return; }
  const answer = await doing(() => ask("report", { report: "usage", workspace: place, days: Number(days) }));
  const report = answer?.report;
  if (!report?.servers) return;
  const sum = (list, name) => list.reduce((total, each) => total + each[name], 0);
  const full = report.servers.filter((each) => each.tools);
  const now = sum(full, "suite_tokens"), direct = sum(full, "direct_tokens"), listed = sum(report.servers, "suite_tokens");
  parts.tiles.replaceChildren(...[
    ["tokens of a listing now", number(listed)], ["with all tools, as far as known", number(direct)], ["saved", direct ? `${Math.round((1 - now / direct) * 100)} %` : "-"],
    ["calls", number(report.calls)], ["errors", number(report.errors)], ["tokens of results", number(report.tokens)],
  ].map(([name, value]) => h("li", {}, h("b", {}, value), name)));
  parts.tokens.replaceChildren(report.servers.length ? tokenChart(report.servers) : nothing("No server is configured."));
  parts.daily.replaceChildren(report.by_day.length ? dayChart(report.by_day) : nothing(report.is_guarded ? "Nothing has been called yet." : "Calls are written down only while the gate is on: guard = true"));
  parts.unused.replaceChildren(report.unused_servers.length ? h("ul", {}, report.unused_servers.map((each) => h("li", {}, h("b", {}, each.server), `: ${number(each.suite_tokens)} tokens in each listing. `, h("code", {}, commandIn(place, "disable", each.server))))) : nothing("Every server was used."));
  parts.tools.update(report.tools, (each) => [each.server, each.suite, each.tool].join("\n"), "Nothing has been called yet.");
}

export default { name: "savings", topics: ["savings"], make, show };
