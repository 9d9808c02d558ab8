// What is known, when it is asked for again, and what is said to whoever looks.

import { ask, Refused } from "./api.js";
import { h, now } from "./dom.js";

// How often a topic is asked for at most. What changes after a while of rest is asked for at once.
const GATHER_MS = { approvals: 40, status: 150, calls: 300, runs: 150 };
const SOON_MS = 5;

const said = document.getElementById("said");
const facts = {};
const waiting = {};
// Set by the frame: what a topic that was asked for anew leads to, and what a lost login does.
export const frame = { changed: async () => {}, out: () => {} };

// Say something that nobody may miss.
export function say(message, { bad = false, hint = "" } = {}) {
  said.className = bad ? "bad" : "";
  said.replaceChildren(h("p", {}, message), hint ? h("p", {}, h("code", {}, hint)) : "");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.replaceChildren(), bad ? 12000 : 5000);
}

// Do something that a person asked for; what is refused is said.
export async function doing(work, done = "") {
  try {
    const answer = await work();
    if (done) say(done);
    return answer;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) frame.out();
    else say(error.message, { bad: true, hint: error.hint });
    return undefined;
  }
}

// What was answered last to a request that several views share.
export const known = (topic) => facts[topic];

// The same, asked for if nobody has.
export const need = async (topic) => (facts[topic] ??= await quietly(asked[topic]));

const untrustedServers = () => new Set((facts.status?.boards ?? []).flatMap((each) => (each.untrusted ?? []).map((name) => `${each.workspace}\n${name}`)));

// What waits for trust in each folder that is served.
async function untrusted() {
  const places = new Set(((await need("status"))?.boards ?? []).map((each) => each.workspace));
  const reports = await Promise.all([...places].map((workspace) => ask("report", { report: "trust", workspace })));
  // Of servers the board knows best: its clients may trust by a variable, which a report knows nothing of.
  const waits = (folder, each) => each.state !== "trusted" && (each.kind !== "server" || untrustedServers().has(`${folder}\n${each.name}`));
  return reports.flatMap(({ report }) => (report.entries ?? []).filter((each) => waits(report.workspace, each)).map((each) => ({ ...each, workspace: report.workspace })));
}

const asked = {
  services: () => ask("services", { action: "list" }),
  trust: untrusted,
  status: () => ask("status"),
  approvals: () => ask("approvals", { everything: true }),
};

// Ask for a topic again: at once if nobody has asked lately, and never twice at a time. `anew` gives
// up what is under way: an answer that a browser froze may never come to its end.
export function refresh(topic, within = GATHER_MS[topic] ?? 100, anew = false) {
  const state = (waiting[topic] ??= { timer: 0, due: 0, turn: 0, busy: false, again: false, asked: -Infinity });
  if (anew) { state.turn += 1; state.busy = false; }
  if (state.busy) { state.again = true; return; }
  const due = Math.max(performance.now() + (within && SOON_MS), state.asked + within);
  // Whoever wants it sooner does not wait for whoever can wait.
  if (state.timer && due >= state.due) return;
  clearTimeout(state.timer);
  state.due = due;
  state.timer = setTimeout(async () => {
    const turn = (state.turn += 1);
    const isGivenUp = () => turn !== state.turn;
    state.timer = 0;
    state.busy = true;
    state.asked = performance.now();
    try {
      const told = asked[topic] && await quietly(asked[topic]);
      if (isGivenUp()) return;
      facts[topic] = told ?? facts[topic];
      await frame.changed(topic);
    } finally {
      if (!isGivenUp()) {
        state.busy = false;
        if (state.again) { state.again = false; refresh(topic); }
      }
    }
  }, due - performance.now());
}

async function quietly(work) {
  try { return await work(); } catch (error) {
    if (error.status === 401) frame.out();
    return undefined;
  }
}

// One word of a command line, as a shell reads it: names and folders are not ours.
const word = (text) => (/^[\w./@:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// What to type: for the daemon that serves this page, which may have another home than usual.
export function command(...words) {
  const home = facts.status?.home ?? "";
  const isUsual = !home || home.endsWith("/.switchboard");
  return ["switchboard", ...words, ...(isUsual ? [] : ["--home", home])].map(word).join(" ");
}

export const codeCommand = () => command("open", "--code");
export const commandIn = (folder, ...words) => `cd ${word(folder)} && ${command(...words)}`;

export const isWaiting = (posted) => posted.state === "pending" && posted.question.expires_at > now();

export const neededLogins = () => (facts.status?.logins ?? []).filter((each) => ["over", "none"].includes(each.state));

// How much waits for a person, whatever it is: questions, changed tools, trust and logins.
export function waits() {
  const asks = facts.approvals ? facts.approvals.calls.filter(isWaiting).length + facts.approvals.definitions.length : 0;
  return asks + untrustedServers().size + neededLogins().length;
}

