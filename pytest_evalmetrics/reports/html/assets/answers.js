// The answers before and now, with their differences highlighted.

const SHOWN_FLIPS = 8;
const LONGEST = 1500; // words of two texts, above which they are not compared word by word

const words = (text) => text.match(/[\p{L}\p{N}_]+\s*|[^\s\p{L}\p{N}_]\s*|\s+/gu) || [];

// The longest common run of words (Wagner and Fischer 1974); what is left is gone, or new.
function differences(was, now) {
  const a = words(was), b = words(now);
  if (was === now || a.length + b.length > LONGEST) return null;
  const width = b.length + 1, best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
  const left = [], right = [];
  const add = (side, text, other) => { const last = side[side.length - 1]; if (last && last.other === other) last.text += text; else side.push({ text, other }); };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add(left, a[i], false); add(right, b[j], false); i += 1; j += 1; }
    else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) { add(left, a[i], true); i += 1; }
    else { add(right, b[j], true); j += 1; }
  }
  return [left, right];
}

const marked = (parts, tag) => parts.map((p) => (p.other ? h(tag, {}, p.text) : p.text));

function attemptsOf(title, attempts, first) {
  return h("div", {}, h("h3", {}, title),
    attempts.length ? attempts.map((a, k) => h("figure", {},
      h("figcaption", {}, `attempt ${a.sample}: `, h("b", {}, a.reward === null ? "missing" : num(a.reward))),
      a.text ? h("pre", { class: "answer-text" }, k === 0 && first ? first : a.text) : h("p", { class: "muted" }, "no text recorded"),
      a.reason ? h("p", { class: "pre muted" }, `Judge: ${a.reason}`) : null)) : h("p", { class: "muted" }, "no attempt"));
}

function flip(f, open, several) {
  const known = f.before.some((a) => a.text);
  const found = known && f.now.length ? differences(f.before[0].text, f.now[0].text) : null;
  const rewards = (side) => side.map((a) => (a.reward === null ? "–" : num(a.reward))).join(" ");
  return h("details", { class: "flip", open },
    h("summary", {}, h("code", {}, f.task), several ? ` of ${f.agent}` : "", `: ${rewards(f.before)} → ${rewards(f.now)}`),
    f.prompt ? [h("h3", {}, "Prompt"), h("pre", { class: "answer-text" }, f.prompt)] : null,
    f.reference ? [h("h3", {}, "Expected"), h("pre", { class: "answer-text" }, f.reference)] : null,
    h("div", { class: "sides" }, attemptsOf("Before", f.before, found && marked(found[0], "del")), attemptsOf("Now", f.now, found && marked(found[1], "ins"))));
}

function answersPart(about) {
  const order = about.agents.map((a) => a.agent); // those that fail come first
  const flips = [...about.flips].sort((a, b) => order.indexOf(a.agent) - order.indexOf(b.agent));
  if (!flips.length) return null;
  const several = new Set(flips.map((f) => f.agent)).size > 1;
  const known = flips.some((f) => f.before.some((a) => a.text));
  return section("answers", "Answers",
    h("p", { class: "muted" }, "The tasks that changed most, regressions first. ", known ? "Differences between the first attempts are highlighted." : "The earlier answers are not available: a baseline keeps them with answers: true."),
    h("div", { class: "flips-list" }, flips.slice(0, SHOWN_FLIPS).map((f, k) => flip(f, k === 0, several)),
      flips.length > SHOWN_FLIPS ? h("details", {}, h("summary", {}, `${count(flips.length - SHOWN_FLIPS)} more`),
        h("div", { class: "flips-list" }, flips.slice(SHOWN_FLIPS).map((f) => flip(f, false, several)))) : null));
}
