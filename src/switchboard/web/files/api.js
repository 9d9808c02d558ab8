// The control API of the daemon, and the stream of what happens there.

const KEY = "switchboard-page-key";
const SILENCE_MS = 25000;

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

// Follow what happens for ever. `hear` gets lists of events, or nothing when all has to be asked anew.
export function follow(hear, tell) {
  let last = "", wait = 250, reading, again;

  const connect = async () => {
    const ended = new AbortController();
    reading = ended;
    let watch;
    const alive = () => { clearTimeout(watch); watch = setTimeout(() => ended.abort(), SILENCE_MS); };
    try {
      alive();
      const answer = await fetch("/page/events", { headers: headers({ accept: "text/event-stream", "last-event-id": last }), signal: ended.signal });
      if (answer.status === 401) { tell("out"); return; }
      if (!answer.ok) throw new Error(answer.status);
      tell("live");
      wait = 250;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        alive();
        text += value;
        let end;
        while ((end = text.indexOf("\n\n")) >= 0) {
          take(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } catch { /* It is tried again. */ } finally { clearTimeout(watch); }
    if (reading !== ended) return;
    tell("off");
    again = setTimeout(connect, wait);
    wait = Math.min(wait * 2, 3000);
  };

  const take = (block) => {
    let data = "";
    for (const line of block.split("\n")) {
      if (line.startsWith("data: ")) data += line.slice(6);
      else if (line.startsWith("id: ")) last = line.slice(4);
    }
    if (data) { const told = JSON.parse(data); hear(told === "anew" ? undefined : told); }
  };

  const wake = () => {
    if (document.hidden) return;
    clearTimeout(again);
    reading?.abort();
    wait = 250;
    connect();
  };

  // A page that slept may have a connection that nobody told it is dead.
  let asleep = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) asleep = Date.now();
    else if (Date.now() - asleep > 5000) wake();
  });
  addEventListener("online", wake);
  addEventListener("pageshow", (event) => event.persisted && wake());
  connect();
}
