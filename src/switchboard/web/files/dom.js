// Elements from values. Text is only ever text, with what would not be seen written out.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;
const SVG = "http://www.w3.org/2000/svg";

// The clock of the daemon, in seconds: that of this machine's browser may be set meanwhile, or be
// another machine's. Told anew with each answer.
let ahead = 0;
export const now = () => Date.now() / 1000 + ahead;
export const setClock = (seconds) => { if (seconds > 0) ahead = seconds - Date.now() / 1000; };

const codeOf = (letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
const isPlain = (letter) => letter === "\n" || letter === "\t";

// The nodes of a text that others wrote.
export function shown(text) {
  const nodes = [];
  let from = 0;
  for (const found of String(text).matchAll(UNSEEN)) {
    if (isPlain(found[0])) continue;
    nodes.push(text.slice(from, found.index));
    const mark = document.createElement("span");
    mark.className = "code";
    mark.textContent = codeOf(found[0]);
    nodes.push(mark);
    from = found.index + found[0].length;
  }
  nodes.push(String(text).slice(from));
  return nodes.filter((node) => node !== "");
}

export const shownText = (text) => String(text).replace(UNSEEN, (letter) => (isPlain(letter) ? letter : `⟦${codeOf(letter)}⟧`));

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : shownText(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    if (child instanceof Node) element.append(child);
    else element.append(...shown(String(child)));
  }
  return element;
}

export const h = (name, props, ...children) => filled(document.createElement(name), props, children);
export const s = (name, props, ...children) => filled(document.createElementNS(SVG, name), props, children);

// Say that an element is the current one of its kind, or that it is not.
export function mark(element, as) {
  if (as) element.setAttribute("aria-current", as);
  else element.removeAttribute("aria-current");
}

const signs = new WeakMap();

// Rows by their keys: one that has not changed stays the very same element, with its focus.
export function keyed(parent, items, keyOf, make) {
  const before = new Map([...parent.children].map((each) => [each.dataset.key, each]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    const sign = JSON.stringify(item);
    let element = before.get(key);
    before.delete(key);
    if (!element || signs.get(element) !== sign) {
      const made = make(item);
      made.dataset.key = key;
      signs.set(made, sign);
      if (element) {
        const focused = element.contains(document.activeElement) ? document.activeElement.dataset.act : undefined;
        if (at === element) at = made;
        element.replaceWith(made);
        if (focused) made.querySelector(`[data-act="${focused}"]`)?.focus();
      }
      element = made;
    }
    if (element !== at) parent.insertBefore(element, at);
    else at = at.nextElementSibling;
  }
  for (const gone of before.values()) gone.remove();
}

// A table whose rows stay; `columns` are [heading, cell of an item, class].
export function table(caption, columns) {
  const body = h("tbody");
  const heads = columns.map(([head, , kind]) => h("th", { scope: "col", class: kind }, head));
  const element = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("thead", {}, h("tr", {}, heads)), body));
  const nothing = h("p", { class: "empty" });
  const holder = h("div", {}, nothing, element);
  const update = (items, keyOf, without) => {
    element.hidden = !items.length;
    nothing.hidden = Boolean(items.length);
    if (nothing.textContent !== without) nothing.replaceChildren(...shown(without));
    keyed(body, items, keyOf, (item) =>
      h("tr", {}, columns.map(([head, cell, kind]) => h("td", { class: kind, "data-label": head }, h("span", {}, cell(item))))));
  };
  return { element: holder, update };
}

export const facts = (pairs) => h("dl", {}, pairs.filter(([, value]) => value !== "" && value !== undefined && value !== null)
  .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

const MINUTE = 60, HOUR = 3600, DAY = 86400;

export function span(seconds) {
  const s = Math.max(0, seconds);
  if (s < 10) return `${s.toFixed(s < 1 ? 2 : 1)} s`;
  if (s < MINUTE * 2) return `${Math.round(s)} s`;
  if (s < HOUR * 2) return `${Math.round(s / MINUTE)} min`;
  return s < DAY * 2 ? `${(s / HOUR).toFixed(1)} h` : `${(s / DAY).toFixed(1)} d`;
}

const whole = (seconds) => (seconds < 10 ? `${seconds} s` : span(seconds));

// A time that goes on being true: `mode` is "age" or "left".
export function moment(at, mode = "age") {
  const element = h("time", { "data-at": at, "data-mode": mode, title: new Date(at * 1000).toLocaleString() });
  retime(element);
  return element;
}

function retime(element) {
  const away = now() - Number(element.dataset.at);
  const said = element.dataset.mode === "left" ? (away < 0 ? `${Math.ceil(-away)} s left` : "over") : whole(Math.max(1, Math.floor(away)));
  if (element.textContent !== said) element.textContent = said;
}

setInterval(() => document.hidden || document.querySelectorAll("time[data-at]").forEach(retime), 1000);

export const bytes = (size) => (size >= 1 << 20 ? `${Math.round(size / (1 << 20))} MB` : size >= 1024 ? `${Math.round(size / 1024)} KB` : `${size} B`);
export const clock = (at) => new Date(at * 1000).toLocaleTimeString();

// How wide a chart is drawn, so that its letters stay as large as they are.
export const chartWidth = () => Math.max(300, Math.min(1000, document.documentElement.clientWidth - 60));

// To match more lines than these with each other would take too long.
const MOST_MATCHED = 4e6;

// Lines of two texts: what stays, what was added (+) and taken away (-). Nothing is left out.
export function difference(before, after) {
  const old = before.split("\n"), now = after.split("\n");
  const most = Math.min(old.length, now.length);
  let head = 0, tail = 0;
  while (head < most && old[head] === now[head]) head++;
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const both = (lines) => lines.map((line) => [" ", line]);
  return [...both(old.slice(0, head)), ...matched(old.slice(head, old.length - tail), now.slice(head, now.length - tail)), ...both(old.slice(old.length - tail))];
}

function matched(old, now) {
  if (old.length * now.length > MOST_MATCHED) return [...old.map((line) => ["-", line]), ...now.map((line) => ["+", line])];
  const best = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      best[i][j] = old[i] === now[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const lines = [];
  let i = 0, j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) { lines.push([" ", old[i++]]); j++; }
    else if (i < old.length && (j >= now.length || best[i + 1][j] >= best[i][j + 1])) lines.push(["-", old[i++]]);
    else lines.push(["+", now[j++]]);
  }
  return lines;
}

export const diffBlock = (lines) => h("pre", { class: "diff", tabindex: "0", "aria-label": "what is different" },
  lines.map(([sign, text]) => h("span", { class: sign === "+" ? "add" : sign === "-" ? "cut" : null }, `${sign} ${text}`)));

// A button that does what it says at the second press, so that a slip does nothing.
export function sureButton(words, sure, run, props = {}) {
  let timer;
  const button = h("button", { type: "button", ...props, onclick: async () => {
    if (!timer) {
      button.textContent = sure;
      timer = setTimeout(() => { timer = undefined; button.textContent = words; }, 4000);
      return;
    }
    clearTimeout(timer);
    timer = undefined;
    button.textContent = words;
    button.disabled = true;
    try { await run(); } finally { button.disabled = false; }
  } }, words);
  return button;
}
