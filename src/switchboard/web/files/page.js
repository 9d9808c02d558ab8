// The frame of the page: logging in, the views, the keys, and what is asked anew when.

import { follow, hasVisit, login, logout } from "./api.js";
import { h, mark, shown } from "./dom.js";
import now from "./now.js";
import { doing, frame, refresh, say, waits } from "./state.js";

const VIEWS = ["now", "queue", "calls", "runs", "yard", "savings", "configuration"];
const LATER_MS = 1500;
// Only what is seen first is loaded first: each file is a request, and a browser makes six at once.
const loaded = { now };
const viewOf = async (name) => (loaded[name] ??= (await import(`./${name}.js`)).default);
const titleOf = (name) => name[0].toUpperCase() + name.slice(1);
const TOPICS = [
  [/^(Approval|DefinitionHeld|QueueChanged)/, "approvals"],
  [/^(Session|Child|Config|Login|Run|Names|ApprovalAsked|ApprovalDecided)/, "status"],
  [/^Config/, "configuration"],
  [/^Config/, "trust"],
  [/^Call/, "calls"],
  [/^(Run|ApprovalAsked|ApprovalDecided)/, "runs"],
];

const main = document.getElementById("main");
const live = document.getElementById("live");
const nav = document.getElementById("nav");
const places = new Map();
let current;

function count() {
  const number = waits();
  document.title = number ? `(${number}) Switchboard` : "Switchboard";
  const place = nav.querySelector('[href="#queue"]');
  if (place && place.dataset.count !== String(number)) {
    place.dataset.count = number;
    place.replaceChildren(...shown(number ? `Queue (${number})` : "Queue"));
  }
}

function hear(events) {
  const topics = new Set();
  for (const each of events ?? []) for (const [names, topic] of TOPICS) if (names.test(each.event)) topics.add(topic);
  if (!events) ["approvals", "status", ...(current?.topics ?? [])].forEach((topic) => topics.add(topic));
  if (topics.has("calls")) refresh("status", 1000);
  for (const topic of topics) refresh(topic, events ? undefined : 0, !events);
}

function tell(state) {
  if (state === "out") { showLogin(); return; }
  live.className = state === "live" ? "" : "off";
  live.textContent = state === "live" ? "live" : "no connection, trying again";
}

function showLogin(why = "") {
  current = undefined;
  nav.replaceChildren();
  live.className = "off";
  live.textContent = "not logged in";
  main.replaceChildren(h("div", { class: "card" },
    h("h2", {}, "This browser is not logged in"),
    why ? h("p", { class: "bad" }, why) : "",
    h("p", {}, "Type this in a terminal of your own; it opens this page with a link that logs in:"),
    h("pre", {}, "switchboard open")));
}

async function showView() {
  const wanted = location.hash;
  const [name, ...rest] = wanted.slice(1).split("/");
  let view;
  try { view = await viewOf(VIEWS.includes(name) ? name : VIEWS[0]); } catch {
    say("the daemon does not answer", { bad: true, hint: "switchboard open" });
    return;
  }
  // Somebody may have gone on, or out, meanwhile.
  if (location.hash !== wanted || !nav.children.length) return;
  if (!places.has(view)) places.set(view, view.make());
  if (current !== view) {
    current = view;
    main.replaceChildren(places.get(view));
    for (const link of nav.children) mark(link, link.hash === `#${view.name}` && "page");
  }
  view.go?.(rest.map(decodeURIComponent));
  view.topics.forEach((topic) => refresh(topic, 0));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (/^[1-9]$/.test(event.key) && VIEWS[event.key - 1]) location.hash = VIEWS[event.key - 1];
  else if (current?.key?.(event.key, event.repeat)) event.preventDefault();
});

frame.out = showLogin;
frame.changed = async (topic) => {
  count();
  if (current?.topics.includes(topic)) await current.show(topic);
};

async function begin() {
  const given = location.hash.match(/^#login=(.+)$/);
  if (given) {
    history.replaceState(null, "", "/");
    try { await login(given[1]); } catch (error) {
      if (!hasVisit()) return showLogin(error.message);
    }
  }
  if (!hasVisit()) return showLogin();
  nav.replaceChildren(...VIEWS.map((name) => h("a", { href: `#${name}` }, titleOf(name))),
    h("button", { type: "button", class: "link", onclick: () => doing(logout).then(() => showLogin()) }, "Log out"));
  addEventListener("hashchange", showView);
  showView();
  follow(hear, tell);
  // The others are there when they are wanted, also if the daemon is away then.
  setTimeout(() => VIEWS.forEach((name) => viewOf(name).catch(() => {})), LATER_MS);
}

begin();
