// The tested quantity: the paired change with its interval, 0, and the loss that matters.

const LANE = 26; // pixels of a metric
const EDGE = 10;

// The values that a scale has to show, for the metrics of one unit.
function extentOf(metrics) {
  const ends = [0];
  for (const { paired } of metrics) {
    ends.push(paired.gain);
    ends.push(paired.low ?? paired.gain);
    ends.push(paired.high ?? paired.gain);
    if (paired.matters !== null) {
      ends.push(-paired.matters);
    }
  }
  const known = ends.filter(Number.isFinite);
  const low = Math.min(...known);
  const high = Math.max(...known);
  const room = (high - low) * 0.06 || 0.01;
  return [low - room, high + room];
}

function changeInWords(metric) {
  const { paired } = metric;
  const parts = [`${metric.name}: ${signed(paired.gain)}`];
  if (paired.low !== null) {
    parts.push(`interval ${plus(paired.low)} to ${plus(paired.high)}`);
  }
  if (paired.matters !== null) {
    parts.push(`a loss of ${short(paired.matters)} matters`);
  }
  return `${parts.join(", ")}; below 0 is worse`;
}

// One metric on a scale that others share; what leaves it ends in an arrow.
function changeBar(metric, [low, high], length) {
  const { paired } = metric;
  const inside = (value) => Math.min(high, Math.max(low, value));
  const x = (value) => {
    const share = (inside(value) - low) / (high - low);
    return Number((EDGE + share * (length - 2 * EDGE)).toFixed(2));
  };
  const kind = WORDS[metric.verdict] ? WORDS[metric.verdict][1] : "none";
  const middle = LANE / 2;
  const marks = [];
  if (paired.matters !== null) {
    const limit = x(-paired.matters);
    marks.push(s("rect", { class: "out", x: 0, y: 0, width: limit, height: LANE }));
    marks.push(s("line", { class: "limit", x1: limit, x2: limit, y1: 0, y2: LANE }));
  }
  marks.push(s("line", { class: "zero-line", x1: x(0), x2: x(0), y1: 0, y2: LANE }));
  if (paired.low !== null) {
    const [from, to] = [x(paired.low), x(paired.high)];
    marks.push(s("line", { class: `range ${kind}`, x1: from, x2: to, y1: middle, y2: middle }));
    if (paired.low < low) {
      marks.push(s("path", { class: `now ${kind}`, d: `M0 ${middle}l9 -5v10z` }));
    }
    if (paired.high > high) {
      marks.push(s("path", { class: `now ${kind}`, d: `M${length} ${middle}l-9 -5v10z` }));
    }
  }
  marks.push(s("circle", { class: `now ${kind}`, cx: x(paired.gain), cy: middle, r: 5 }));
  return s("svg", {
    class: "change-bar", viewBox: `0 0 ${length} ${LANE}`, preserveAspectRatio: "none",
    role: "img", "aria-label": changeInWords(metric),
  }, marks);
}

// A threshold: the value's own interval with its bounds.
function boundBar(metric, length) {
  const values = [metric.value, metric.low, metric.high, ...metric.limits.map((limit) => limit.at)];
  const known = values.filter(Number.isFinite);
  if (!known.length || metric.value === null) {
    return h("span", { class: "muted" }, "–");
  }
  const lowest = Math.min(...known);
  const highest = Math.max(...known);
  const room = (highest - lowest) * 0.08 || Math.abs(highest) * 0.1 || 0.5;
  const low = lowest - room;
  const high = highest + room;
  const x = (value) => Number((EDGE + ((value - low) / (high - low)) * (length - 2 * EDGE)).toFixed(2));
  const kind = WORDS[metric.verdict] ? WORDS[metric.verdict][1] : "none";
  const middle = LANE / 2;
  const marks = [];
  for (const limit of metric.limits) {
    const at = x(limit.at);
    const [from, to] = limit.side === ">=" ? [0, at] : [at, length];
    marks.push(s("rect", { class: "out", x: from, y: 0, width: Math.max(0, to - from), height: LANE }));
    marks.push(s("line", { class: "limit", x1: at, x2: at, y1: 0, y2: LANE }));
  }
  if (!isNone(metric.low)) {
    marks.push(s("line", {
      class: `range ${kind}`, x1: x(metric.low), x2: x(metric.high), y1: middle, y2: middle,
    }));
  }
  marks.push(s("circle", { class: `now ${kind}`, cx: x(metric.value), cy: middle, r: 5 }));
  return s("svg", {
    class: "change-bar", viewBox: `0 0 ${length} ${LANE}`, preserveAspectRatio: "none",
    role: "img", "aria-label": boundInWords(metric),
  }, marks);
}

function boundInWords(metric) {
  const parts = [`${metric.name} ${num(metric.value)}`];
  if (!isNone(metric.low)) {
    parts.push(`interval ${num(metric.low)} to ${num(metric.high)}`);
  }
  for (const limit of metric.limits) {
    const side = limit.side === ">=" ? "at least" : "at most";
    parts.push(`has to be ${side} ${num(limit.at)}`);
  }
  return parts.join(", ");
}

// Noise is not in a failure's ink: what passes has no colour.
function changeText(change, less, verdict) {
  if (!change || change[0] === null) {
    return h("span", { class: "muted" }, "–");
  }
  const isQuiet = change[0] === 0 || !verdict || verdict === "PASS" || verdict === "ADVISORY";
  const way = (change[0] > 0) !== Boolean(less) ? "up" : "down";
  return h("span", { class: `change ${isQuiet ? "" : way}` }, signed(change[0]));
}

function intervalOf(change) {
  if (!change || isNone(change[1])) {
    return "";
  }
  return `[${plus(change[1])}, ${plus(change[2])}]`;
}
