// Elements from values. Text is only ever text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (typeof value === "function") {
      element.addEventListener(name, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) {
      continue;
    }
    const node = child instanceof Node ? child : document.createTextNode(String(child));
    element.append(node);
  }
  return element;
}

const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

// A text of a row or a file: its direction is its own, and stays within it.
const own = (text) => h("bdi", { dir: "auto" }, text);

// A metric's name, whose lines end behind its signs, and not within a word.
function metricCode(name) {
  const parts = name.split(/(?<=[/,[])/);
  return h("code", {}, parts.flatMap((part) => [h("wbr", {}), part]).slice(1));
}

// A sentence of ours: what is to be typed stands between backticks in it.
function sentence(text) {
  const parts = text.split("`");
  const isPaired = parts.length % 2 === 1;
  const shown = (part, at) => (at % 2 ? h("code", {}, part) : part);
  return h("bdi", { dir: "auto" }, isPaired ? parts.map(shown) : text);
}

// The data beside the code, each part parsed when it is first asked for.
const parsed = new Map();
function data(id) {
  if (!parsed.has(id)) {
    const element = document.getElementById(id);
    parsed.set(id, element ? JSON.parse(element.textContent) : null);
  }
  return parsed.get(id);
}

function say(text) {
  document.getElementById("spoken").textContent = text;
}

// Where a wide table does not fit it scrolls on its own, by keyboard too.
const scrolling = (label, table) =>
  h("div", { class: "scroll", role: "group", "aria-label": label, tabindex: "0" }, table);

const WORDS = {
  FAIL: ["✕", "fail", "Fail"],
  INCONCLUSIVE: ["?", "unsure", "Inconclusive"],
  ADVISORY: ["!", "advisory", "Advisory"],
  WARN: ["!", "warn", "Warning"],
  PASS: ["✓", "pass", "Pass"],
};

function badge(verdict, large) {
  if (!WORDS[verdict]) {
    return h("span", { class: "badge none" }, "not gated");
  }
  const [sign, kind, word] = WORDS[verdict];
  const size = large ? " large" : "";
  return h("span", { class: `badge ${kind}${size}` },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    word);
}

const section = (id, title, ...children) =>
  h("section", { "aria-labelledby": id, class: "part" },
    h("h2", { id, tabindex: "-1" }, title),
    children);

// Links to the sections of a page; the address stays that of the benchmark.
function contents(parts) {
  const headed = parts.flat(Infinity).filter((part) => part instanceof Element && part.matches("section"));
  if (headed.length < 3) {
    return null;
  }
  const links = headed.map((part) => {
    const heading = part.querySelector("h2");
    const follow = (event) => {
      event.preventDefault();
      part.scrollIntoView({ block: "start" });
      heading.focus({ preventScroll: true });
    };
    return h("li", {}, h("a", { href: `#${heading.id}`, click: follow }, heading.textContent));
  });
  return h("nav", { class: "contents", "aria-label": "Contents" }, h("ul", {}, links));
}
