// A metric's interval beside its baseline and its bounds: one line of plain SVG.

const EDGE = 8;

function intervalBar(metric, wide) {
  const limits = metric.limits || [];
  const values = [metric.value, metric.low, metric.high, metric.baseline, ...limits.map((l) => l.at)]
    .filter((x) => x !== null && x !== undefined && Number.isFinite(x));
  if (!values.length || metric.value === null) return h("span", { class: "muted" }, "–");
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 0.5;
  [low, high] = [low - room, high + room];
  const LENGTH = wide ? 240 : 176; // pixels, as the style sheet has it
  const x = (v) => Number((EDGE + ((v - low) / (high - low)) * (LENGTH - 2 * EDGE)).toFixed(2));
  const kind = WORDS[metric.verdict] ? WORDS[metric.verdict][1] : "none";
  const marks = [s("line", { class: "axis", x1: EDGE, x2: LENGTH - EDGE, y1: 14, y2: 14 })];
  for (const limit of limits) {
    const at = x(limit.at);
    const bad = limit.side === ">=" ? [EDGE, at] : [at, LENGTH - EDGE];
    marks.push(s("rect", { class: "out", x: bad[0], y: 4, width: Math.max(0, bad[1] - bad[0]), height: 20 }));
    marks.push(s("line", { class: "limit", x1: at, x2: at, y1: 2, y2: 26 }));
  }
  if (metric.low !== null && metric.high !== null && metric.low !== undefined) {
    marks.push(s("rect", {
      class: `range ${kind}`, x: x(metric.low), y: 10, rx: 4,
      width: Math.max(2, x(metric.high) - x(metric.low)), height: 8,
    }));
  }
  if (metric.baseline !== null && metric.baseline !== undefined) {
    const at = x(metric.baseline);
    marks.push(s("path", { class: "was", d: `M${at} 7l7 7l-7 7l-7-7z` }));
  }
  marks.push(s("circle", { class: `now ${kind}`, cx: x(metric.value), cy: 14, r: 5 }));
  return s("svg", {
    class: wide ? "interval wide" : "interval", viewBox: `0 0 ${LENGTH} 28`, role: "img",
    "aria-label": spoken(metric, limits),
  }, marks);
}

function spoken(metric, limits) {
  const parts = [`${metric.name} ${num(metric.value)}`];
  if (metric.low !== null && metric.low !== undefined) parts.push(`interval ${num(metric.low)} to ${num(metric.high)}`);
  if (metric.baseline !== null && metric.baseline !== undefined) parts.push(`baseline ${num(metric.baseline)}`);
  for (const limit of limits) parts.push(`has to be ${limit.side === ">=" ? "at least" : "at most"} ${num(limit.at)}`);
  return parts.join(", ");
}

const legend = () => h("p", { class: "legend" },
  h("span", {}, s("svg", { viewBox: "0 0 28 28", "aria-hidden": "true" }, s("rect", { class: "range none", x: 2, y: 10, width: 24, height: 8, rx: 4 }), s("circle", { class: "now none", cx: 14, cy: 14, r: 5 })), "this run, with its interval"),
  h("span", {}, s("svg", { viewBox: "0 0 28 28", "aria-hidden": "true" }, s("path", { class: "was", d: "M14 7l7 7l-7 7l-7-7z" })), "baseline"),
  h("span", {}, s("svg", { viewBox: "0 0 28 28", "aria-hidden": "true" }, s("rect", { class: "out", x: 2, y: 4, width: 12, height: 20 }), s("line", { class: "limit", x1: 14, x2: 14, y1: 2, y2: 26 })), "threshold; values in the shaded area fail"));

// Noise is not in a failure's ink: what passes has no colour.
function changeText(change, less, verdict) {
  if (!change || change[0] === null) return h("span", { class: "muted" }, "–");
  const good = change[0] === 0 || !verdict || verdict === "PASS" ? "" : (change[0] > 0) !== Boolean(less) ? "up" : "down";
  return h("span", { class: `change ${good}` }, signed(change[0]),
    change[1] !== null && change[1] !== undefined
      ? h("small", {}, ` [${plus(change[1])}, ${plus(change[2])}]`) : null);
}
