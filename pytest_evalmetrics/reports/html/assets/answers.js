// What was asked and answered, before and now.

// The attempt that passed before, and the one that fails now: where each side differs most.
function tellingAttempts(flip, less) {
  const sign = less ? -1 : 1;
  const value = (attempt) => (attempt.reward === null ? -Infinity : sign * attempt.reward);
  const best = (attempts) => attempts.reduce((a, b) => (value(b) > value(a) ? b : a), attempts[0]);
  const worst = (attempts) => attempts.reduce((a, b) => (value(b) < value(a) ? b : a), attempts[0]);
  const mean = (attempts) => {
    const sum = attempts.reduce((total, attempt) => total + (attempt.reward ?? 0), 0);
    return sum / (attempts.length || 1);
  };
  const gained = sign * (mean(flip.now) - mean(flip.before)) > 0;
  return gained ? [worst(flip.before), best(flip.now)] : [best(flip.before), worst(flip.now)];
}

// Right and wrong as the reward says, never as the side does.
function rightness(attempt, less) {
  if (!attempt || attempt.reward === null) {
    return "";
  }
  if (attempt.reward === 1) {
    return less ? "wrong" : "right";
  }
  if (attempt.reward === 0) {
    return less ? "right" : "wrong";
  }
  return "";
}

const SIGNS = { right: "✓", wrong: "✕", "": "" };
const SPOKEN = { right: "right", wrong: "wrong", "": "" };

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most / 2)} … ${text.slice(-most / 2)}` : text);

function excerpt(attempt, other, less) {
  if (!attempt || !attempt.text) {
    return h("span", { class: "muted" }, "–");
  }
  const kind = rightness(attempt, less);
  const text = shortened(attempt.text.replace(/\s+/g, " "), 80);
  let shown = text;
  if (other && other.text) {
    const pair = compared(shortened(other.text.replace(/\s+/g, " "), 80), text);
    [, shown] = pair;
  }
  return h("span", { class: kind },
    h("bdi", { dir: "auto" }, shown),
    kind ? h("span", { "aria-hidden": "true" }, ` ${SIGNS[kind]}`) : null,
    kind ? h("span", { class: "hidden-text" }, ` ${SPOKEN[kind]}`) : null);
}

function answerText(attempt, shown, less) {
  const kind = rightness(attempt, less);
  const reward = attempt.reward === null ? "missing" : num(attempt.reward);
  return h("figure", {},
    h("figcaption", {}, `attempt ${attempt.sample}: `,
      h("b", { class: kind }, reward, kind ? ` ${SIGNS[kind]} ${SPOKEN[kind]}` : "")),
    attempt.text
      ? h("pre", { class: `answer-text ${kind}`, dir: "auto", tabindex: "0" }, shown || attempt.text)
      : h("p", { class: "muted" }, "no text recorded"),
    attempt.reason
      ? h("div", {}, h("p", { class: "caption" }, "Reason"), h("p", { class: "pre reason", dir: "auto" }, attempt.reason))
      : null);
}

function sideOf(title, attempts, first, shown, less) {
  if (!attempts.length) {
    return h("div", {}, h("h3", {}, title), h("p", { class: "muted" }, "no attempt recorded"));
  }
  const others = attempts.filter((attempt) => attempt !== first);
  return h("div", {}, h("h3", {}, title),
    answerText(first, shown, less),
    others.length
      ? h("details", {}, h("summary", {}, plural(others.length, "other attempt")),
        others.map((attempt) => answerText(attempt, null, less)))
      : null);
}

const NO_TEXT = "No text is recognised in the rows of this task. Name the fields that hold it: ";
const TEXT_FIELDS = "fields: {prompt: ..., answer: ..., reason: ...}";
const NOT_KEPT = "This page keeps the texts of the tasks that changed most, of benchmarks that do not pass. "
  + "The rows below hold this task's.";

const noTextNote = () => h("p", { class: "note" }, NO_TEXT, h("code", {}, TEXT_FIELDS));

const hasTextOf = (flip) => [...flip.before, ...flip.now].some((attempt) => attempt.text);

// Why a task has no answers to show: its rows hold none, or it is not among those that are kept.
function withoutAnswers(flips, verdict) {
  const isSilent = verdict !== "PASS" && !flips.some(hasTextOf);
  return isSilent ? noTextNote() : h("p", { class: "note" }, NOT_KEPT);
}

// All that a task's rows hold in words; `talk` has the turns of its attempts.
function answersDetail(flip, talk, less) {
  const hasText = hasTextOf(flip);
  const [before, now] = tellingAttempts(flip, less);
  const texts = before && now ? compared(before.text, now.text) : [before?.text, now?.text];
  const turnsOf = (side, attempt) => (talk && attempt ? talk[side][String(attempt.sample)] || [] : []);
  const turnsBefore = turnsOf("before", before);
  const turnsNow = turnsOf("now", now);
  let conversationPart = null;
  if (turnsBefore.length && turnsNow.length) {
    conversationPart = conversations(turnsBefore, turnsNow);
  } else if (turnsBefore.length || turnsNow.length) {
    conversationPart = conversation(turnsNow.length ? turnsNow : turnsBefore);
  }
  const block = (title, text) => (text
    ? [h("h3", {}, title), h("pre", { class: "answer-text", dir: "auto", tabindex: "0" }, text)] : null);
  return h("div", { class: "answers" },
    block("Prompt", flip.prompt),
    block("Expected", flip.reference),
    hasText
      ? h("div", { class: "sides" },
        sideOf("Before", flip.before, before, texts[0], less),
        sideOf("Now", flip.now, now, texts[1], less))
      : null,
    hasText || conversationPart ? null : noTextNote(),
    conversationPart);
}
