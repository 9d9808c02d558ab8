// Configuration: what is wrong, what mends it, and every setting with its origin.

import { ask } from "./api.js";
import { h, table } from "./dom.js";
import { folders } from "./savings.js";
import { doing, known, need } from "./state.js";

const parts = {};
let place = "";
let values = [];

function make() {
  parts.where = h("select", { onchange: (event) => { place = event.target.value; show(); } });
  parts.problems = h("div");
  parts.findings = h("div");
  parts.filter = h("input", { type: "search", size: "22", oninput: draw });
  parts.values = table("Settings", [
    ["Key", (each) => h("code", {}, each.key)],
    ["Value", (each) => JSON.stringify(each.value)],
    ["From", (each) => h("span", { class: each.scope === "default" ? "dim" : null }, each.origin)],
  ]);
  return h("div", {}, h("h2", {}, "Configuration"),
    h("div", { class: "row" }, h("label", {}, "Folder ", parts.where)),
    h("h2", {}, "Problems"), parts.problems,
    h("h2", {}, "What doctor finds"), parts.findings,
    h("h2", {}, "Settings in effect"),
    h("div", { class: "row" }, h("label", {}, "Only keys with ", parts.filter)), parts.values.element);
}

function draw() {
  const text = parts.filter.value.toLowerCase();
  parts.values.update(values.filter((each) => each.key.toLowerCase().includes(text)), (each) => each.key, "No setting is like that.");
}

const placeOf = (problem) => [problem.path, problem.line].filter(Boolean).join(":") + (problem.key ? ` ${problem.key}` : "");
const nothing = (words, kind = "empty") => h("p", { class: kind }, words);

function problems(report) {
  const board = (known("status")?.boards ?? []).find((each) => each.workspace === place);
  const list = [];
  if (board?.problem) list.push(["bad", "These files cannot be used now, the earlier ones still are", board.problem, ""]);
  for (const each of report?.problems ?? report?.warnings ?? []) list.push([report.problems ? "bad" : "warn", placeOf(each), each.message, each.hint]);
  for (const each of report?.left_out ?? []) list.push(["warn", each.name, `left out: ${each.reason}`, ""]);
  if (report?.message && !report.problems?.length) list.push(["bad", "", report.message, report.hint ?? ""]);
  parts.problems.replaceChildren(...(list.length ? list.map(([kind, where, what, hint]) => h("p", { class: `card ${kind}` }, where ? [h("b", {}, where), ": "] : "", what, hint ? [" ", h("code", {}, hint)] : "")) : [nothing("The configuration is fine.")]));
}

function findings(report) {
  if (!report?.findings) return;
  parts.findings.replaceChildren(...(report.findings.length ? report.findings.map((each) => h("p", { class: "card" },
    h("span", { class: `pill ${each.severity === "error" ? "bad" : "warn"}` }, each.severity), " ", each.subject ? [h("b", {}, each.subject), ": "] : "", each.message, each.hint ? [h("br"), h("code", {}, each.hint)] : "")) : [nothing("Nothing is wrong.")]));
}

async function show() {
  const before = place;
  await need("status");
  place = folders(parts.where, place);
  if (!place) { parts.problems.replaceChildren(nothing("No client works anywhere now, so no configuration is in use.")); return; }
  if (before !== place || !parts.findings.children.length) parts.findings.replaceChildren(nothing("looking…"));
  const [shown, checked] = await Promise.all(["config-show", "config-check"].map((report) => doing(() => ask("report", { report, workspace: place }))));
  values = shown?.report?.values ?? [];
  draw();
  problems(checked?.report);
  findings((await doing(() => ask("report", { report: "doctor", workspace: place })))?.report);
}

export default { name: "configuration", topics: ["configuration"], make, show };
