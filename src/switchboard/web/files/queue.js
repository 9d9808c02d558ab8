// Queue: everything that waits for a person, and the answers to it.

import { ask } from "./api.js";
import { diffBlock, difference, facts, h, keyed, mark, moment, now } from "./dom.js";
import { codeCommand, command, commandIn, doing, isWaiting, known, neededLogins, refresh, say } from "./state.js";

const YES = new Set(["approved", "consumed"]);
const parts = {};
let selected = "";
// The question that a code is typed for, which is not drawn anew meanwhile.
let typing = "";

function make() {
  parts.list = h("div");
  parts.none = h("p", { class: "empty" }, "Nothing waits for an answer.");
  parts.decided = h("div");
  parts.else = h("div");
  return h("div", {},
    h("p", { class: "dim" }, h("kbd", {}, "j"), " ", h("kbd", {}, "k"), " move, ", h("kbd", {}, "a"), " approve, ", h("kbd", {}, "d"), " deny. A yes takes the code that ", (parts.command = h("code", {}, codeCommand())), " shows in your terminal; a no takes nothing."),
    (parts.title = h("h2", {}, "Waiting for your answer")), parts.none, parts.list, (parts.elseTitle = h("h2", {}, "In your terminal")), parts.else, (parts.decidedTitle = h("h2", {}, "Decided in the last day")), parts.decided);
}

const itemsOf = (found) => [
  ...found.calls.filter(isWaiting).map((each) => ({ kind: "call", id: each.question.id, question: each.question })),
  ...found.definitions.map((held) => ({ kind: "definition", id: held.id, held })),
];

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

// What was approved of the same tool before.
function earlier(question) {
  return (known("approvals")?.calls ?? []).filter((each) => YES.has(each.state) && each.question.tool === question.tool
    && each.question.facts.server === question.facts.server && each.question.id !== question.id);
}

// What a person sees of a question: the digest is of one session, and another may ask the same.
const looks = ({ exactly, arguments: given, facts: { runs, cwd, account } }) => JSON.stringify([exactly, given, runs, cwd, account]);

function before(question) {
  const past = earlier(question);
  if (!past.length) return "";
  const last = past[past.length - 1].question;
  const today = past.filter((each) => (each.answer?.at ?? 0) > new Date(now() * 1000).setHours(0, 0, 0, 0) / 1000);
  const same = today.filter((each) => looks(each.question) === looks(question)).length;
  const said = same ? `Same as ${same} that you approved today` : `You approved ${past.length} other ${past.length === 1 ? "call" : "calls"} of this tool, ${today.length} of them today`;
  const lines = same ? [] : difference(pretty(last.arguments), pretty(question.arguments)).filter(([sign]) => sign !== " ");
  return [h("p", { class: same ? "good" : "dim" }, said), lines.length ? [h("h4", {}, "Other arguments than in the latest of them"), diffBlock(lines)] : ""];
}

// Lines of a change in the words of the terminal, which say what of it is not shown.
const signed = (changes) => diffBlock(changes.map((line) => [line[0], line.slice(1)]));

function callItem({ id, question }) {
  const own = `switchboard approvals show ${id}`;
  const [first, ...rest] = question.prompt.split("\n").filter((line) => line !== `All of it: ${own}`).map((line) => line.replace(` · ${own}`, ""));
  return [
    h("h3", {}, first.replace(/^Switchboard asks: /, "")),
    h("p", { class: "dim" }, question.client || "unknown client", " in ", question.workspace, ", asked ", moment(question.asked_at), " ago, ",
      h("b", { class: question.risk.level === "high" ? "bad" : "warn" }, `${question.risk.level} risk`), ", ", moment(question.expires_at, "left")),
    rest.length ? h("pre", { tabindex: "0", "aria-label": "the question" }, rest.join("\n")) : "",
    before(question),
    question.changes.length ? [h("h4", {}, "Its server has changed the tool"), signed(question.changes)] : "",
    h("details", {}, h("summary", {}, "Everything that is known of it"),
      facts([
        ["runs", question.facts.runs], ["in", question.facts.cwd], ["server", question.facts.server], ["sandbox", question.facts.sandbox],
        ["network", question.facts.hosts.length ? question.facts.hosts.join(", ") : question.facts.network ? "yes" : "no"],
        ["writes", question.facts.writable.join(", ")], ["effects", question.facts.effects.join(", ")], ["secrets", question.facts.secrets.join(", ")],
        ["because", question.risk.reasons.join("; ")], ["session", question.session_id], ["digest", question.digest],
      ]),
      h("pre", { tabindex: "0", "aria-label": "arguments" }, pretty(question.arguments))),
  ];
}

const definitionItem = ({ held }) => [
  h("h3", {}, `${held.server} has changed its tool ${held.tool}`),
  h("p", { class: "dim" }, "noticed ", moment(held.at), " ago; it cannot be called until you agree"),
  signed(held.changes),
];

const EXTENTS = { once: "this call", session: "this session", always: "always for this tool" };
const HOST_EXTENTS = { once: "this time", always: "for good" };

function itemOf(item) {
  const question = item.question;
  const isHost = question?.session_id.startsWith("egress:");
  const names = isHost ? HOST_EXTENTS : EXTENTS;
  const offers = question ? question.offers.filter((each) => names[each]) : ["once"];
  const extent = offers.length > 1 ? h("select", { "aria-label": "How far the yes goes", "data-act": "extent" }, offers.map((each) => h("option", { value: each }, names[each]))) : null;
  const code = h("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false", size: "11", placeholder: "xxxx-xxxx", "aria-label": "Code from your terminal", "data-act": "code",
    onfocus: () => { typing = item.id; }, onblur: () => { typing = ""; refresh("approvals", 300); } });
  const form = h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); decide(item, true, extent?.value ?? "once", code.value); } },
    h("button", { class: "main", "data-act": "approve" }, item.kind === "call" ? "Approve" : "Take it as it is now"), extent, h("label", {}, "with code ", code),
    h("button", { type: "button", class: "stop", "data-act": "deny", onclick: () => decide(item, false, "once", "") }, "Deny"));
  return h("article", { tabindex: "-1", "aria-label": question ? `${question.tool} of ${question.suite || question.facts.server}` : item.held.tool, onfocusin: () => select(item.id) },
    item.kind === "call" ? callItem(item) : definitionItem(item), form);
}

async function decide(item, approves, extent, proof) {
  if (approves && !proof.trim()) {
    say("A yes takes a code from your terminal.", { hint: codeCommand() });
    find(item.id)?.querySelector("input")?.focus();
    return;
  }
  const digest = item.question?.digest ?? "";
  const done = await doing(() => ask("decide", { id: item.id, approves, extent, digest, proof }), approves ? "Approved." : "Denied.");
  if (done) { typing = ""; move(1); }
  refresh("approvals", 0);
}

const find = (id) => [...parts.list.children].find((each) => each.dataset.key === id);

function select(id, focus = false) {
  selected = id;
  for (const each of parts.list.children) mark(each, each.dataset.key === id && "true");
  if (focus) { const place = find(id); place?.focus(); place?.scrollIntoView({ block: "nearest" }); }
}

function move(by) {
  const all = [...parts.list.children].map((each) => each.dataset.key);
  if (!all.length) return;
  const at = all.indexOf(selected);
  select(all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))], true);
}

function key(name, isHeld) {
  if (name === "j" || name === "k") { move(name === "j" ? 1 : -1); return true; }
  const place = find(selected);
  if (!place || (name !== "a" && name !== "d")) return false;
  // A key that is held down answers one question, and not those behind it.
  if (isHeld) return true;
  if (name === "a") place.querySelector("input").focus();
  else place.querySelector('[data-act="deny"]').click();
  return true;
}

// A server of a folder is known in that folder alone.
function loginCommand({ server, account }) {
  const words = ["login", server, ...(account ? ["--account", account] : [])];
  const folder = known("status").children.find((each) => each.name === server)?.workspace;
  return folder ? commandIn(folder, ...words) : command(...words);
}

// What a person has to do elsewhere: trust what a folder brings along, and log in.
function elsewhere() {
  const servers = (known("trust") ?? []).map((each) => ({
    id: `trust ${each.workspace} ${each.name}`, title: `${each.name} waits for your trust`, more: each.changed || (each.state === "changed" ? "It has changed since you trusted it." : "It came with the folder and does not run before."),
    pairs: [["would run", each.runs], ["program", each.program], ["in", each.folder || each.workspace], ["from", each.origin], ...Object.entries(each.env ?? {}).map(([name, value]) => [name, value])],
    type: commandIn(each.workspace, "trust", each.name),
  }));
  const logins = neededLogins().map((each) => ({
    id: `login ${each.server} ${each.account}`, title: `${each.server} needs a login`, more: each.state === "over" ? "The last one is over, and cannot be renewed." : "Nobody is logged in there.",
    pairs: [["account", each.account], ["at", each.issuer]], type: loginCommand(each),
  }));
  return [...servers, ...logins];
}

function show() {
  parts.command.textContent = codeCommand();
  const others = elsewhere();
  parts.elseTitle.hidden = !others.length;
  keyed(parts.else, others, (each) => each.id, (each) => h("article", {}, h("h3", {}, each.title), h("p", { class: "dim" }, each.more), facts(each.pairs), h("pre", {}, each.type)));
  const found = known("approvals");
  if (!found) return;
  const items = itemsOf(found);
  const busy = typing && items.some((each) => each.id === typing);
  parts.none.hidden = Boolean(items.length || others.length);
  parts.title.hidden = Boolean(!items.length && others.length);
  if (!busy) keyed(parts.list, items, (each) => each.id, itemOf);
  if (!items.some((each) => each.id === selected)) select(items[0]?.id ?? "");
  else select(selected);
  const past = found.calls.filter((each) => each.answer).sort((one, other) => other.answer.at - one.answer.at).slice(0, 30);
  keyed(parts.decided, past, (each) => each.question.id, ({ question, state, answer }) => h("p", {},
    h("span", { class: YES.has(state) ? "good pill" : "bad pill" }, state), " ", h("b", {}, question.tool), ` of ${question.suite || question.facts.server}, by ${answer.by}, `, moment(answer.at), " ago"));
  parts.decidedTitle.hidden = !past.length;
}

export default { name: "queue", topics: ["approvals", "status", "trust"], make, show, key };
