// One question on a phone: what it is, the two answers, and the registration of this phone.
//
// The key of this phone is made here, can sign and nothing else, and never leaves the browser.

const main = document.getElementById("main");
const said = document.getElementById("said");
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;
const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const LOOK_MS = 5000;

// Elements, in which text is only ever text.
function h(name, props, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined) element.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child instanceof Node) element.append(child);
    else if (child) element.append(...shown(String(child)));
  }
  return element;
}

function shown(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found[0] === "\n") continue;
    const mark = document.createElement("span");
    mark.className = "code";
    mark.textContent = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    nodes.push(text.slice(from, found.index), mark);
    from = found.index + found[0].length;
  }
  return [...nodes, text.slice(from)].filter((node) => node !== "");
}

function say(text, ms = 12000) {
  said.replaceChildren(h("p", {}, text));
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.replaceChildren(), ms);
}

// The key of this phone, in a place that only pages of this address can open.

function store(mode, work) {
  return new Promise((done, fail) => {
    const opening = indexedDB.open("switchboard-pocket", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("own");
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const asked = work(opening.result.transaction("own", mode).objectStore("own"));
      asked.onsuccess = () => { opening.result.close(); done(asked.result); };
      asked.onerror = () => fail(asked.error);
    };
  });
}

let own;
const recall = async () => { try { own = await store("readonly", (kept) => kept.get("device")); } catch { own = undefined; } };
const remember = (device) => store("readwrite", (kept) => kept.put(device, "device"));
const forget = () => store("readwrite", (kept) => kept.delete("device"));

// Asking

async function post(word, body) {
  let answer;
  try {
    answer = await fetch(`/pocket/${word}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  } catch { throw Object.assign(new Error("Your computer does not answer."), { status: 0 }); }
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  const why = told.error ?? {};
  throw Object.assign(new Error(why.message ?? `refused (${answer.status})`), { status: answer.status, reason: why.reason });
}

const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_");

// The same with the signature of this phone over exactly these words.
async function signed(word, body, key, ...words) {
  // A phone may sleep between asking for the number and signing it.
  try { return await signedOnce(word, body, key, ...words); }
  catch (error) { if (error.reason !== "nonce-unknown") throw error; }
  return signedOnce(word, body, key, ...words);
}

async function signedOnce(word, body, key, ...words) {
  const { nonce } = await post("challenge", {});
  const text = ["switchboard", location.origin, nonce, word, ...words].map((each) => `${each.length}:${each}\n`).join("");
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, new TextEncoder().encode(text));
  return post(word, { ...body, nonce, signature: base64(signature) });
}

const asDevice = (word, body, ...words) => signed(word, { ...body, device: own.id }, own.key, ...words);

// Views

const span = (seconds) => (seconds < 120 ? `${Math.max(0, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`);

// A time that goes on by itself: since, where it is below zero, else until.
function ticking(seconds) {
  const element = document.createElement("span");
  element.dataset.at = performance.now() + seconds * 1000;
  element.textContent = span(Math.abs(seconds));
  return element;
}
setInterval(() => {
  for (const each of document.querySelectorAll("[data-at]")) {
    const left = (Number(each.dataset.at) - performance.now()) / 1000;
    each.textContent = span(each.textContent && each.nextSibling?.textContent.startsWith(" left") ? left : -left);
  }
}, 1000);

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function compared({ before, arguments: now }) {
  if (before.same_today) return h("p", { class: "good" }, `Same as ${before.same_today} that you approved today.`);
  if (!before.latest) return "";
  const old = new Set(pretty(before.latest).split("\n")), fresh = pretty(now).split("\n");
  const lines = [...[...old].filter((line) => !fresh.includes(line)).map((line) => `- ${line}`), ...fresh.filter((line) => !old.has(line)).map((line) => `+ ${line}`)];
  return lines.length ? h("details", {}, h("summary", {}, `Other arguments than you approved before (${before.others_today} others today)`), h("pre", { tabindex: "0" }, lines.join("\n"))) : "";
}

function question(it, tokens) {
  const buttons = h("div", { class: "row" });
  const card = h("article", { "aria-label": `${it.tool} of ${it.server}` },
    h("h2", {}, it.server && it.server !== it.tool ? `${it.server}.${it.tool}` : it.tool),
    h("p", { class: "dim" }, it.client ? `${it.client} in ` : "in ", it.workspace, ", asked ", ticking(-it.age_s), " ago, ", ticking(it.left_s), " left"),
    it.risk ? h("p", { class: it.risk === "high" ? "bad" : "warn" }, `${it.risk} risk`) : "",
    it.prompt ? [h("pre", { tabindex: "0", "aria-label": "the question" }, it.prompt.join("\n")), compared(it), h("details", {}, h("summary", {}, "All arguments"), h("pre", { tabindex: "0" }, pretty(it.arguments)))]
      : h("p", {}, "What exactly it would do is shown to registered devices only."),
    buttons);
  const answer = async (approves, token) => {
    for (const each of buttons.children) each.disabled = true;
    try {
      const body = { token, approves, digest: it.digest ?? "" };
      if (own && it.digest) await asDevice("answer", body, token, it.digest, approves ? "approved" : "denied");
      else await post("answer", body);
      card.replaceChildren(h("h2", {}, `${it.tool}: `, approves ? "approved" : "denied"), h("p", { class: "dim" }, approves ? "It runs now, if its client still waits." : "It does not run."));
    } catch (error) {
      say(error.message);
      for (const each of buttons.children) each.disabled = false;
    }
  };
  if (tokens.yes && it.digest) buttons.append(h("button", { type: "button", class: "main", onclick: () => answer(true, tokens.yes) }, "Approve"));
  if (tokens.no) buttons.append(h("button", { type: "button", class: "stop", onclick: () => answer(false, tokens.no) }, "Deny"));
  return card;
}

async function showOne(tokens) {
  const token = tokens.yes ?? tokens.no;
  drawn = undefined;
  const it = own ? await asDevice("look", { token }, token) : await post("look", { token });
  if (!it.is_waiting) { main.replaceChildren(h("p", {}, "This question has been answered already, or waits no more.")); return; }
  main.replaceChildren(question(it, tokens));
  if (!own) main.append(registration("To approve from here, register this phone first."));
}

let drawn;
async function showQueue() {
  const { questions } = await asDevice("queue", {});
  const ids = questions.map((each) => each.id).join();
  if (ids === drawn) return;
  drawn = ids;
  main.replaceChildren(h("h2", {}, questions.length ? `${questions.length} waiting for your answer` : "Nothing waits for an answer."),
    ...questions.map((each) => question(each, each)), h("p", { class: "dim" }, `This is ${own.name}. `, "To take it off the list, type "), h("pre", {}, `switchboard approvals devices ${own.id} --remove`));
}

function registration(why) {
  const code = h("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", placeholder: "xxxx-xxxx" });
  const name = h("input", { autocomplete: "off", maxlength: "40", value: /iPhone|iPad|Android/.exec(navigator.userAgent)?.[0] ?? "phone" });
  return h("article", {}, h("h2", {}, "Register this phone"), h("p", {}, why),
    h("p", { class: "dim" }, "Type the code that your terminal shows. Before that, compare the fingerprint of this page's certificate with the one there."),
    h("form", { onsubmit: async (event) => {
      event.preventDefault();
      try {
        const pair = await crypto.subtle.generateKey(CURVE, false, ["sign", "verify"]);
        const key = base64(await crypto.subtle.exportKey("raw", pair.publicKey));
        const told = await signed("pair", { code: code.value, name: name.value, key }, pair.privateKey, code.value);
        await remember({ id: told.device, name: told.name, key: pair.privateKey });
        await recall();
        say("This phone is registered.", 4000);
        await begin();
      } catch (error) { say(error.message); }
    } }, h("label", {}, "Code", code), h("label", {}, "What to call it", name), h("div", { class: "row" }, h("button", { class: "main" }, "Register"))));
}

async function begin() {
  if (!globalThis.isSecureContext || !crypto.subtle) { main.replaceChildren(h("p", { class: "bad" }, "This browser keeps no keys for this page.")); return; }
  await recall();
  const given = new URLSearchParams(location.hash.slice(1));
  const tokens = { yes: given.get("yes") ?? undefined, no: given.get("no") ?? undefined };
  try {
    if (tokens.yes || tokens.no) await showOne(tokens);
    else if (own) await showQueue();
    else main.replaceChildren(registration("Questions of your computer are then shown here."));
  } catch (error) {
    if (own && error.reason === "device-unproven") { await forget(); own = undefined; drawn = undefined; main.replaceChildren(registration("This phone is no longer registered.")); return; }
    main.replaceChildren(h("p", { class: error.status ? "" : "bad" }, error.message));
  }
}

addEventListener("hashchange", begin);
document.addEventListener("visibilitychange", () => document.hidden || begin());
setInterval(() => { if (own && !document.hidden && !location.hash && !main.querySelector("details[open]")) begin(); }, LOOK_MS);
begin();
