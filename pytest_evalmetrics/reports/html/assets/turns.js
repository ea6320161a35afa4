// A conversation: who said what, calls of tools with their results folded, before beside now.

const ROLES = { system: "System", user: "User", assistant: "Assistant", tool: "Tool" };

const callText = (call) => `${call.name}(${call.arguments})`;

function turnKey(turn) {
  const calls = (turn.calls || []).map(callText).join("\n");
  return `${turn.role}\n${turn.text || ""}\n${calls}`;
}

// The number of turns that both begin with.
function commonTurns(before, now) {
  const most = Math.min(before.length, now.length);
  let at = 0;
  while (at < most && turnKey(before[at]) === turnKey(now[at])) {
    at += 1;
  }
  return at;
}

function missingImage(image, type) {
  const size = image.size ? `, ${bytes(image.size)}` : "";
  const where = image.url ? `: ${image.url}` : ", omitted to keep this page small";
  return h("p", { class: "muted" }, `Picture (${type}${size})${where}`);
}

// A picture is drawn behind a click.
function imagePart(image) {
  const type = image.media_type || "image";
  if (!image.data) {
    return missingImage(image, type);
  }
  const place = h("p", {});
  const show = () => {
    const source = `data:${type};base64,${image.data}`;
    place.replaceChildren(h("img", { src: source, alt: "Picture of this turn" }));
  };
  const label = `Show picture (${type}, ${bytes(image.size)})`;
  place.append(h("button", { type: "button", click: show }, label));
  return place;
}

function callParts(calls) {
  return (calls || []).map((call) => h("div", { class: "call" },
    h("p", {}, h("span", { class: "muted" }, "calls "), h("code", {}, call.name)),
    h("pre", { class: "turn-text", dir: "auto" }, call.arguments),
    call.error ? h("p", { class: "wrong" }, own(`failed: ${call.error}`)) : null));
}

function turnBody(turn, shownText) {
  const text = shownText || turn.text;
  if (turn.role === "tool") {
    const name = turn.result ? turn.result.name : "";
    const failed = turn.result && turn.result.error;
    const size = plural((turn.text || "").length, "character");
    return [
      failed ? h("p", { class: "wrong" }, own(`failed: ${turn.result.error}`)) : null,
      h("details", {},
        h("summary", {}, name ? ["Result of ", h("code", {}, name)] : "Result", `, ${size}`),
        h("pre", { class: "turn-text", dir: "auto" }, text)),
      (turn.images || []).map(imagePart),
    ];
  }
  return [
    turn.reasoning ? h("details", {},
      h("summary", {}, `Reasoning, ${plural(turn.reasoning.length, "character")}`),
      h("pre", { class: "turn-text", dir: "auto" }, turn.reasoning)) : null,
    text ? h("pre", { class: "turn-text", dir: "auto" }, text) : null,
    callParts(turn.calls),
    (turn.images || []).map(imagePart),
    turn.stop_reason === "length" ? h("p", { class: "muted" }, "ended at the token limit") : null,
  ];
}

function turnItem(turn, number, shownText, isFirst) {
  return h("li", { class: `turn ${turn.role}${isFirst ? " first-different" : ""}` },
    h("p", { class: "who" }, `${number}. ${ROLES[turn.role] || turn.role}`),
    turnBody(turn, shownText));
}

// Both conversations; what they share is folded, and both go on at the first turn that differs.
function conversations(before, now) {
  const shared = commonTurns(before, now);
  const firstBefore = before[shared];
  const firstNow = now[shared];
  let texts = [null, null];
  if (firstBefore && firstNow && firstBefore.role === firstNow.role) {
    texts = compared(firstBefore.text || "", firstNow.text || "");
  }
  const column = (title, turns, text) => h("div", {},
    h("h4", {}, title),
    turns.length > shared
      ? h("ol", { class: "turns" }, turns.slice(shared).map((turn, k) =>
        turnItem(turn, shared + k + 1, k === 0 ? text : null, k === 0)))
      : h("p", { class: "muted" }, turns.length ? "ends here" : "no conversation recorded"));
  const same = before.length === now.length && shared === now.length;
  return h("div", { class: "conversation" },
    h("h3", {}, "Conversation"),
    shared ? h("details", { open: same },
      h("summary", {}, same
        ? `${plural(shared, "turn")}, the same before and now`
        : `${plural(shared, "turn")} before they differ`),
      h("ol", { class: "turns" }, now.slice(0, shared).map((turn, k) => turnItem(turn, k + 1)))) : null,
    same ? null : h("div", { class: "sides" },
      column("Before", before, texts[0]),
      column("Now", now, texts[1])));
}

// A single side, where the other one is not recorded.
function conversation(turns) {
  return h("div", { class: "conversation" },
    h("h3", {}, "Conversation"),
    h("ol", { class: "turns" }, turns.map((turn, k) => turnItem(turn, k + 1))));
}
