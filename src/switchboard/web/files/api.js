// The control API of the daemon, and the stream of what happens there.

import { setClock } from "./dom.js";

const KEY = "switchboard-page-key";
const SILENCE_MS = 25000;
const SLEPT_MS = 4000;

export class Refused extends Error {
  constructor(status, message, hint, reason) {
    super(message);
    this.status = status;
    this.hint = hint;
    this.reason = reason;
  }
}

const headers = (more) => ({ "x-switchboard-page": localStorage.getItem(KEY) || "", ...more });

async function post(path, body) {
  let answer;
  try {
    answer = await fetch(path, { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body) });
  } catch {
    throw new Refused(0, "the daemon does not answer", "switchboard open");
  }
  setClock(Number(answer.headers.get("x-switchboard-now")));
  const text = await answer.text();
  const told = text ? JSON.parse(text) : {};
  if (answer.ok) return told;
  const why = told.fault || told.error || {};
  throw new Refused(answer.status, why.message || `refused (${answer.status})`, why.hint, why.reason);
}

export const ask = (word, body = {}) => post(`/page/api/${word}`, body);

export const hasVisit = () => Boolean(localStorage.getItem(KEY));

export async function login(token) {
  localStorage.setItem(KEY, (await post("/page/login", { token })).key);
}

export async function logout() {
  await post("/page/logout", {});
  localStorage.removeItem(KEY);
}

// One stream of events, read until it ends or falls silent. Says why it ended.
async function read(last, ended, take, alive) {
  let watch;
  const noted = () => { clearTimeout(watch); watch = setTimeout(() => ended.abort(), SILENCE_MS); alive(); };
  try {
    noted();
    const answer = await fetch("/page/events", { headers: headers({ accept: "text/event-stream", "last-event-id": last }), signal: ended.signal });
    if (answer.status === 401) return "out";
    if (!answer.ok) return "off";
    take({ state: "live" });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return "off";
      noted();
      text += value;
      let end;
      while ((end = text.indexOf("\n\n")) >= 0) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("");
        if (data) take({ last: lines.find((line) => line.startsWith("id: "))?.slice(4) ?? "", told: JSON.parse(data) });
      }
    }
  } catch { return "off"; } finally { clearTimeout(watch); }
}

// Follow what happens for ever. `hear` gets lists of events, or nothing when all has to be asked
// anew. A browser opens few connections to one server, so that of all its tabs one reads the stream
// and tells the others; a lock says which, and passes on with its end.
export function follow(hear, tell) {
  const tabs = new BroadcastChannel("switchboard-events");
  let last = "", now = "off", reading, isLeading = false, watch;

  const take = ({ state, told, last: place }) => {
    if (place) last = place;
    if (state) { now = state; tell(state); }
    if (told) hear(told === "anew" ? undefined : told);
  };
  const share = (news) => { take(news); tabs.postMessage(news); };

  const lead = async () => {
    isLeading = true;
    for (let wait = 250; isLeading; wait = Math.min(wait * 2, 3000)) {
      reading = new AbortController();
      const began = Date.now();
      const state = await read(last, reading, share, () => tabs.postMessage({ alive: true }));
      if (!isLeading) return;
      share({ state });
      if (state === "out") return;
      if (Date.now() - began > 5000) wait = 250;
      await new Promise((done) => { setTimeout(done, wait); });
    }
  };
  const apply = (steal) => {
    if (!navigator.locks) { lead(); return; }
    navigator.locks.request("switchboard-events", steal ? { steal: true } : {}, lead).catch(() => { isLeading = false; reading?.abort(); apply(false); });
  };
  // Whoever hears nothing for long reads for itself.
  const expect = (ms) => { clearTimeout(watch); watch = setTimeout(() => { if (!isLeading && !document.hidden) apply(true); expect(SILENCE_MS); }, ms); };

  tabs.onmessage = ({ data }) => {
    if (data.ping) { if (isLeading) tabs.postMessage({ state: now }); return; }
    expect(SILENCE_MS);
    take(data);
  };
  // A page that slept may have a connection that nobody told it is dead.
  const wake = () => {
    hear(undefined);
    if (isLeading) reading?.abort();
    else { tabs.postMessage({ ping: true }); expect(2000); }
  };
  const look = () => document.hidden || wake();
  // It was hidden for long, or frozen; or the machine slept, which nobody tells but the clock.
  let asleep = 0, beat = Date.now();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) asleep = Date.now();
    else if (Date.now() - asleep > 5000) wake();
  });
  // Also out of sight: its title says how much waits.
  document.addEventListener("resume", wake);
  setInterval(() => {
    const since = Date.now() - beat;
    beat += since;
    if (since > SLEPT_MS) look();
  }, 1000);
  addEventListener("online", look);
  addEventListener("pageshow", (event) => event.persisted && wake());
  expect(SILENCE_MS);
  tabs.postMessage({ ping: true });
  apply(false);
}
