// Runs: the tasks of agents, and one of them as it goes on.

import { ask } from "./api.js";
import { diffBlock, facts, h, moment, span, sureButton, table } from "./dom.js";
import { doing, refresh, say } from "./state.js";

const WAIT_S = 15;
const ENDED = new Set(["completed", "failed", "cancelled"]);
const parts = {};
let open = "";
// Which transcript is followed: an answer to an earlier one is not shown any more.
let turn = 0;

const kindOf = (state) => ({ completed: "good", failed: "bad", cancelled: "dim" })[state] ?? "warn";
const used = (usage) => (usage ? `${usage.input_tokens.toLocaleString()} tokens in, ${usage.output_tokens.toLocaleString()} out${usage.cost_usd == null ? "" : `, ${usage.cost_usd.toFixed(4)} USD`}` : "");
const cut = (text, most = 160) => (text.length > most ? `${text.slice(0, most)}…` : text);

function make() {
  parts.list = table("Runs", [
    ["Run", (each) => h("a", { href: `#runs/${each.id}` }, each.id)],
    ["Agent", (each) => `${each.spec.agent} on ${each.spec.engine}`],
    ["State", (each) => h("span", { class: kindOf(each.state) }, each.state)],
    ["Began", (each) => [moment(each.created_at), " ago"]],
    ["Took", (each) => (each.ended_at ? span(each.ended_at - each.created_at) : "-"), "n"],
    ["Task", (each) => cut(each.spec.task)],
    ["Doing", (each) => (each.approval_id ? h("a", { href: "#queue" }, "waits for your answer") : each.doing || "-")],
  ]);
  parts.one = h("div");
  return h("div", {}, h("h2", {}, "Runs of agents"), parts.one, parts.list.element);
}

async function show() {
  const found = await doing(() => ask("runs", { last: 50 }));
  if (found) parts.list.update(found.runs, (each) => each.id, "No agent has been given a task yet.");
}

function go([id = ""]) {
  open = id;
  turn += 1;
  parts.one.replaceChildren();
  if (open) watch(turn);
}

const line = (at, kind, ...inner) => h("div", { class: `line ${kind}` }, h("span", { class: "dim" }, new Date(at * 1000).toLocaleTimeString(), " "), inner);
const block = (words, text) => h("details", {}, h("summary", {}, words), h("pre", { tabindex: "0" }, text));

// One line of a transcript.
function told({ at, data }) {
  let it;
  try { it = JSON.parse(data); } catch { return null; }
  switch (it.event) {
    case "message": return line(at, "", h("b", {}, "says "), h("pre", { tabindex: "0", "aria-label": "message" }, it.text));
    case "reasoning": return line(at, "dim", block("thinks", it.text));
    case "command": return it.status === "started" ? line(at, "", h("b", {}, "runs "), h("code", {}, it.command))
      : line(at, "", h("span", { class: it.status === "completed" && !it.exit_status ? "good" : "bad" }, `${it.status}${it.exit_status == null ? "" : `, exit ${it.exit_status}`} `), h("code", {}, cut(it.command)), it.output ? block("output", it.output) : "");
    case "file": return line(at, "", h("b", {}, `${it.status === "started" ? "changes" : it.status} `), it.paths.join(", "),
      it.diff && it.status !== "started" ? diffBlock(it.diff.split("\n").map((each) => [["+", "-"].includes(each[0]) ? each[0] : " ", ["+", "-", " "].includes(each[0]) ? each.slice(1) : each])) : "");
    case "tool": return line(at, "", h("b", {}, `${it.status === "started" ? "calls" : it.status} `), [it.server, it.tool].filter(Boolean).join("/"), " ", h("code", {}, cut(it.arguments)));
    case "permission": return line(at, "warn", h("b", {}, "asks "), it.subject, " ", h("a", { href: "#queue" }, "answer"));
    case "notice": return line(at, "warn", it.text);
    case "usage": return line(at, "dim", used(it));
    case "state": return line(at, "dim", h("i", {}, [it.state, it.reason, it.text].filter(Boolean).join(": ")));
    default: return null;
  }
}

async function watch(own) {
  const head = h("div"), log = h("div", { class: "log card", tabindex: "0", role: "log", "aria-label": "What the run does" }), act = h("div", { class: "row" });
  parts.one.replaceChildren(h("article", {}, head, act, log));
  let after = 0, drawn = "";
  while (own === turn) {
    let found;
    try { found = await ask("run", { id: open, after, wait_s: after ? WAIT_S : 0 }); } catch (error) {
      if (own !== turn) return;
      head.replaceChildren(h("p", { class: "bad" }, error.message));
      if (error.status) return;
      await new Promise((done) => { setTimeout(done, 1000); });
      continue;
    }
    if (own !== turn) return;
    const { run, events } = found;
    const state = JSON.stringify([run.state, run.doing, run.usage, run.approval_id, run.output]);
    if (state !== drawn) { drawn = state; header(run, head); actions(run, act); refresh("runs"); }
    const below = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    log.append(...events.map(told).filter(Boolean));
    if (below) log.scrollTop = log.scrollHeight;
    if (events.length) after = events[events.length - 1].number;
    if (ENDED.has(run.state) && !found.has_more && !events.length) return;
  }
}

function header(run, head) {
  head.replaceChildren(
    h("div", { class: "row" }, h("h3", {}, `${run.id}: ${run.spec.agent} on ${run.spec.engine}`), h("span", { class: `pill ${kindOf(run.state)}` }, run.state), h("button", { type: "button", onclick: () => { location.hash = "runs"; } }, "Close")),
    facts([["task", run.spec.task], ["in", run.spec.cwd], ["model", run.model], ["doing", run.doing], ["reason", run.reason === run.state ? "" : run.reason], ["used", used(run.usage)],
      ["waits for", run.approval_id ? h("a", { href: "#queue" }, `your answer ${run.approval_id}`) : ""], ["answer", run.output]]));
}

// The next task in its conversation: a new run, and a question about it first.
function replyForm(run) {
  const input = h("input", { type: "text", size: "40", "aria-label": "What to do next" });
  const send = h("button", { "data-act": "reply" }, "Go on with it");
  return h("form", { class: "row", onsubmit: async (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    send.disabled = true;
    say("It is asked for. What has to be agreed to is in the queue now.");
    await doing(() => ask("run-reply", { id: run.id, text: input.value }), "The run went on.");
    send.disabled = false;
    input.value = "";
    refresh("runs", 0);
  } }, input, send);
}

function actions(run, act) {
  const before = act.querySelector("input");
  if (before && before === document.activeElement && act.dataset.ended === String(ENDED.has(run.state))) return;
  act.dataset.ended = ENDED.has(run.state);
  if (ENDED.has(run.state)) {
    act.replaceChildren(replyForm(run));
    return;
  }
  const input = h("input", { type: "text", size: "40", "aria-label": "More input for the run" });
  act.replaceChildren(
    h("form", { class: "row", onsubmit: async (event) => {
      event.preventDefault();
      if (input.value.trim() && await doing(() => ask("run-steer", { id: run.id, text: input.value }), "It was told.")) input.value = "";
    } }, input, h("button", {}, "Tell it")),
    sureButton("Cancel the run", "Sure?", () => doing(() => ask("run-cancel", { id: run.id }), "Cancelled."), { class: "stop", "data-act": "cancel" }));
}

export default { name: "runs", topics: ["runs"], make, show, go };
