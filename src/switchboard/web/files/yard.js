// Yard: services of every project and branch, what waits for what, their addresses and logs.

import { ask } from "./api.js";
import { facts, h, keyed, moment, sureButton } from "./dom.js";
import { codeCommand, doing, known, refresh, say } from "./state.js";

const OWN = /^https?:\/\/(127\.0\.0\.1|localhost|[\w.-]+\.localhost)(:\d+)?(\/|$)/;
const LOOK_MS = 2000;
const parts = {};
const about = {};
let following;

const linked = (url) => (OWN.test(url ?? "") ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url) : url || "-");
const kindOf = (row) => (row.phase === "ready" ? "good" : row.status === "running" ? "warn" : "bad");

function make() {
  parts.list = h("div");
  parts.none = h("p", { class: "empty" }, "No project has services. A folder with a switchyard.toml in which a client works is listed here.");
  parts.log = h("div");
  parts.code = h("input", { type: "text", autocomplete: "off", spellcheck: "false", size: "11", placeholder: "xxxx-xxxx" });
  return h("div", {}, h("h2", {}, "Services"),
    h("p", { class: "dim" }, "To start or restart something takes the code that ", (parts.command = h("code", {}, codeCommand())), " shows in your terminal."),
    h("label", { class: "row" }, "Code ", parts.code), parts.none, parts.list, parts.log);
}

async function act(action, project, branch, service, done) {
  const proof = parts.code.value;
  if (["up", "restart"].includes(action) && !proof.trim()) {
    say("To start something takes a code from your terminal.", { hint: codeCommand() });
    parts.code.focus();
    return;
  }
  const answer = await doing(() => ask("services", { action, root: project.root, branch, service, proof }));
  if (!answer) return;
  parts.code.value = "";
  const { ok, error } = answer.report;
  if (ok) say(done);
  else say(error.message, { bad: true, hint: error.hint });
  refresh("services", 0);
}

function projects() {
  const { report, roots } = known("services");
  const found = new Map(roots.map((root) => [root, { root, name: root.split("/").pop(), rows: [] }]));
  for (const row of report.services ?? []) {
    if (!found.has(row.root)) found.set(row.root, { root: row.root, rows: [] });
    Object.assign(found.get(row.root), { name: row.project });
    found.get(row.root).rows.push(row);
  }
  return [...found.values()].map((each) => ({ ...each, about: about[each.root] ?? null }));
}

const button = (words, label, run, kind) => h("button", { type: "button", class: kind, "aria-label": label, onclick: run }, words);

function projectOf(project) {
  const needs = Object.fromEntries((project.about?.services ?? []).map((each) => [each.service, Object.entries(each.depends_on).map(([name, what]) => `${name} ${what}`).join(", ")]));
  const branches = [...new Set(project.rows.map((each) => each.branch))];
  const idle = Object.keys(needs).filter((name) => !project.rows.some((row) => row.service === name));
  return h("article", { "aria-label": project.name },
    h("h3", {}, project.name), h("p", { class: "dim" }, project.root),
    (project.about?.problems ?? []).map((each) => h("p", { class: "bad" }, each.message ?? String(each))),
    idle.length ? h("p", {}, "not started: ", idle.join(", ")) : "",
    branches.length ? "" : h("div", { class: "row" }, button("Up", `Up: start the services of ${project.name}`, () => act("up", project, "", "", "Starting."), "main")),
    branches.map((branch) => [
      h("h4", {}, `Branch ${branch}`),
      h("div", { class: "row" },
        button("Up", `Up: start all of ${branch}`, () => act("up", project, branch, "", "Starting."), "main"),
        button("Checkout", `Checkout: point the usual ports at ${branch}`, () => act("checkout", project, branch, "", `The usual ports lead to ${branch} now.`)),
        sureButton("Down", "Sure?", () => act("down", project, branch, "", "Stopped."), { class: "stop" })),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Services of ${branch}` }, h("table", {},
        h("thead", {}, h("tr", {}, ["Service", "State", "Address", "Usual port", "Waits for", "Since", "Actions"].map((each) => h("th", { scope: "col" }, each)))),
        h("tbody", {}, project.rows.filter((row) => row.branch === branch).map((row) => h("tr", {}, [
          ["Service", h("b", {}, row.service)],
          ["State", h("span", { class: kindOf(row) }, row.phase, row.reason ? `: ${row.reason}` : "", row.restarts ? `, restarted ${row.restarts} times` : "")],
          ["Address", linked(row.direct_url)],
          ["Usual port", row.canonical_port ?? "-"],
          ["Waits for", needs[row.service] || "-"],
          ["Since", row.started_at ? moment(row.started_at) : "-"],
          ["Actions", h("span", { class: "row" },
            button("Log", `Log of ${row.service}`, () => followLog(project, row)),
            button("Restart", `Restart ${row.service}`, () => act("restart", project, branch, row.service, "Restarted.")),
            sureButton("Stop", "Sure?", () => act("down", project, branch, row.service, "Stopped."), { class: "stop" }))],
        ].map(([head, inner]) => h("td", { "data-label": head }, h("span", {}, inner)))))))),
    ]));
}

function followLog(project, row) {
  const own = (following = {});
  const text = h("pre", { class: "log", tabindex: "0", "aria-label": `Log of ${row.service}` });
  parts.log.replaceChildren(h("article", {}, h("div", { class: "row" }, h("h3", {}, `${row.service} of ${row.branch}`),
    h("button", { type: "button", onclick: () => { following = undefined; parts.log.replaceChildren(); } }, "Close")), facts([["file", row.log_path]]), text));
  let before;
  const look = async () => {
    if (own !== following || !text.isConnected) return;
    if (!document.hidden) {
      const lines = (await doing(() => ask("services", { action: "logs", root: project.root, branch: row.branch, service: row.service })))?.report?.logs?.[0]?.lines ?? [];
      const now = lines.join("\n");
      if (now !== before) {
        const below = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
        text.replaceChildren(...h("pre", {}, now).childNodes);
        if (below) text.scrollTop = text.scrollHeight;
        before = now;
      }
    }
    setTimeout(look, LOOK_MS);
  };
  look();
  parts.log.scrollIntoView({ block: "nearest" });
}

async function show() {
  parts.command.textContent = codeCommand();
  if (!known("services")) return;
  for (const { root } of projects()) about[root] ??= (await doing(() => ask("services", { action: "about", root })))?.report;
  const found = projects();
  parts.none.hidden = Boolean(found.length);
  keyed(parts.list, found, (each) => each.root, projectOf);
}

// Nobody tells when a service changes, so it is looked at while somebody does.
setInterval(() => !document.hidden && parts.list?.isConnected && refresh("services", 0), 3000);

export default { name: "yard", topics: ["services"], make, show };
