// The run at a glance: the verdict, what to fix, every benchmark in one table.

// -- the head --------------------------------------------------------------------------------

// When the run ended, and what it judged.
function originLine(origin) {
  const parts = [];
  if (origin.time) {
    const shown = origin.time.replace("T", " ").replace("Z", " UTC");
    parts.push(h("time", { datetime: origin.time }, shown));
  }
  if (origin.branch) {
    parts.push(origin.branch);
  }
  if (origin.commit) {
    parts.push(h("code", {}, origin.commit.slice(0, 10)));
  }
  if (/^https?:/.test(origin.url || "")) {
    parts.push(h("a", { href: origin.url, rel: "noreferrer" }, "CI job"));
  }
  return parts.flatMap((part) => [" · ", part]).slice(1);
}

const target = (item) => `#/${encodeURIComponent(item.id)}`;

// The words of a number: "1 fails", "2 fail".
const agreeing = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

function leftText(run) {
  const texts = [];
  if (run.skips) {
    texts.push(` ${plural(run.skips, "benchmark")} ${run.skips === 1 ? "was" : "were"} skipped.`);
  }
  if (run.deselected) {
    texts.push(` ${agreeing(run.deselected, "was", "were")} deselected.`);
  }
  return texts.join("");
}

function knownText(run) {
  const known = run.known_to_fail;
  if (!known) {
    return "";
  }
  const does = known === 1 ? "does" : "do";
  return ` ${plural(known, "benchmark")} expected to fail (xfail) ${does} not count.`;
}

function verdictLine(run) {
  const { counts } = run;
  if (!run.benchmarks && !run.lost) {
    return "No benchmark was evaluated.";
  }
  const phrases = [];
  if (counts.FAIL) {
    phrases.push(agreeing(counts.FAIL, "fails", "fail"));
  }
  if (counts.INCONCLUSIVE) {
    phrases.push(`${count(counts.INCONCLUSIVE)} could not be judged`);
  }
  if (counts.ADVISORY) {
    phrases.push(`${agreeing(counts.ADVISORY, "fails", "fail")} in the advisory tier`);
  }
  if (counts.WARN) {
    phrases.push(agreeing(counts.WARN, "warns", "warn"));
  }
  if (run.lost) {
    phrases.push(`${agreeing(run.lost, "was", "were")} not evaluated`);
  }
  const all = plural(run.benchmarks + run.lost, "benchmark");
  if (!phrases.length) {
    const passing = run.benchmarks === 1 ? "The benchmark passes." : `All ${all} pass.`;
    return passing + leftText(run);
  }
  return `Of ${all}, ${phrases.join(", ")}.${knownText(run)}${leftText(run)}`;
}

const WARNINGS = 5; // lines

// Drift and old baselines, which do not fail a run.
function warningLines(run) {
  const lines = [
    ...run.drifts.map((text) => ["Drift: ", text]),
    ...run.stale.map((text) => ["Old baseline: ", text]),
  ];
  const line = ([what, text]) => h("p", { class: "warning" }, h("b", {}, what), own(text));
  const more = lines.length - WARNINGS;
  return [
    lines.slice(0, WARNINGS).map(line),
    more > 0 ? h("p", { class: "muted" }, `and ${plural(more, "more warning")}`) : null,
  ];
}

// The benchmarks of each verdict as a bar in proportion; its legend says the numbers.
function shareBar(parts) {
  const pieces = parts.map(([verdict, benchmarks]) => {
    const [, kind] = WORDS[verdict];
    const piece = h("span", { class: kind });
    piece.style.flexGrow = String(benchmarks);
    return piece;
  });
  return h("div", { class: "share", "aria-hidden": "true" }, pieces);
}

function shareLegend(parts) {
  const entries = parts.map(([verdict, benchmarks]) => {
    const [, kind, word] = WORDS[verdict];
    return h("li", {},
      h("span", { class: `dot ${kind}`, "aria-hidden": "true" }),
      `${count(benchmarks)} ${word.toLowerCase()}`);
  });
  return h("ul", { class: "counts" }, entries);
}

function verdictCard(run) {
  const [, kind] = WORDS[run.verdict];
  const { counts } = run;
  const parts = [
    ["FAIL", counts.FAIL],
    ["INCONCLUSIVE", counts.INCONCLUSIVE + run.lost],
    ["ADVISORY", counts.ADVISORY],
    ["WARN", counts.WARN],
    ["PASS", counts.PASS],
  ].filter(([, benchmarks]) => benchmarks);
  const chance = run.chance ? `${run.chance[0].toUpperCase()}${run.chance.slice(1)}.` : "";
  return h("div", { class: `verdict ${kind}` },
    h("h1", { id: "verdict", tabindex: "-1" },
      badge(run.verdict, true),
      h("span", { class: "hidden-text" }, " – the run")),
    h("p", { class: "lead" }, verdictLine(run)),
    warningLines(run),
    chance ? h("p", { class: "muted" }, chance) : null,
    parts.length > 1 || run.benchmarks > 1 ? shareBar(parts) : null,
    parts.length > 1 ? shareLegend(parts) : null);
}

// -- what to fix -------------------------------------------------------------------------------

const SHOWN_REASONS = 6;
const SHOWN_LOST = 8;

function exampleRow(example, shows) {
  const cells = [
    h("th", { scope: "row" }, h("bdi", { dir: "auto", title: example.task }, shortened(example.task, 60))),
    h("td", { class: "n" }, example.rewards.replace("->", "→")),
  ];
  if (shows.expected) {
    cells.push(h("td", { class: "excerpt md" }, own(example.expected)));
  }
  if (shows.before) {
    cells.push(h("td", { class: "excerpt md" }, own(example.was || "–")));
  }
  if (shows.texts) {
    cells.push(h("td", { class: "excerpt" }, own(example.now || "–")));
  }
  return h("tr", {}, cells);
}

// The tasks of a benchmark that got worse most, with what was said before and now.
function examplesTable(row) {
  const { examples } = row;
  if (!examples.length) {
    return null;
  }
  const shows = {
    expected: examples.some((example) => example.expected),
    before: examples.some((example) => example.was),
    texts: examples.some((example) => example.has_answers),
  };
  const names = [["Task", ""], ["Rewards", "n"]];
  if (shows.expected) {
    names.push(["Expected", "md"]);
  }
  if (shows.before) {
    names.push(["Before", "md"]);
  }
  if (shows.texts) {
    names.push(["Now", ""]);
  }
  const head = names.map(([name, kind]) => h("th", { scope: "col", class: kind }, name));
  const label = `Tasks of ${row.name} that got worse`;
  return scrolling(label, h("table", { class: "small examples" },
    h("caption", { class: "hidden-text" }, label),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, examples.map((example) => exampleRow(example, shows)))));
}

function entryOf(verdict, head, ...inside) {
  const [sign, kind, word] = WORDS[verdict];
  return h("li", { class: kind },
    h("p", { class: "what" },
      h("span", { class: "sign", "aria-hidden": "true" }, sign),
      head,
      h("span", { class: "hidden-text" }, ` ${word}`)),
    inside);
}

const commandOf = (command) => (command ? h("p", {}, h("code", {}, command)) : null);

function linkTo(row) {
  return h("a", { href: target(row), class: "clamp" }, own(row.name));
}

function benchmarkEntry(row) {
  const more = row.reasons - 1;
  const others = more > 0 ? h("span", { class: "muted" }, ` (and ${plural(more, "more reason")})`) : null;
  return entryOf(row.verdict, linkTo(row),
    h("p", {}, own(row.reason), others),
    examplesTable(row),
    commandOf(row.again));
}

function causeEntry([head, text, command, first], rows, showsExamples) {
  const kinds = { INCONCLUSIVE: "unsure", FAIL: "fail" };
  const row = rows.find((one) => one.id === first);
  return h("li", { class: kinds[head.split(" ")[0]] || "left" },
    h("p", { class: "what" }, head),
    text ? h("p", {}, text) : null,
    row && showsExamples ? examplesTable(row) : null,
    row ? h("p", {}, linkTo(row)) : null,
    commandOf(command));
}

const BROKEN_OFF = "It stopped after a check, before its end. Further checks may be missing.";
const NOT_EVALUATED = "It was collected but not evaluated: a crash, -x, or an interrupt.";

function lostEntry(id, run) {
  const why = run.broken_off.includes(id) ? BROKEN_OFF : NOT_EVALUATED;
  return entryOf("INCONCLUSIVE", h("span", {}, id), h("p", {}, why));
}

function inTheWay(run, rows) {
  const telling = rows.filter((row) => row.reason && !row.xfail && row.verdict !== "PASS");
  const lost = run.not_evaluated.slice(0, SHOWN_LOST);
  if (!telling.length && !lost.length) {
    return null;
  }
  // of many benchmarks the causes say it
  const shown = run.causes.length ? [] : telling.slice(0, SHOWN_REASONS);
  const untold = run.causes.length ? 0 : telling.length - shown.length;
  const left = untold + Math.max(0, run.lost - SHOWN_LOST);
  // a benchmark that several causes name has its tasks below the first of them
  const firsts = run.causes.map((cause) => cause[3]);
  const causes = run.causes.map((cause, at) => causeEntry(cause, rows, firsts.indexOf(cause[3]) === at));
  return section("way", "What to fix",
    causes.length ? h("ul", { class: "reasons causes" }, causes) : null,
    h("ul", { class: "reasons" },
      shown.map(benchmarkEntry),
      lost.map((id) => lostEntry(id, run))),
    left ? h("p", { class: "muted" }, `and ${count(left)} more, in the table below`) : null);
}

const SHOWN_SKIPPED = 20;

function skippedOnes(run) {
  if (!run.skips) {
    return null;
  }
  const shown = run.skipped.slice(0, SHOWN_SKIPPED);
  const more = run.skips - shown.length;
  const entry = (item) => h("li", { class: "left" },
    h("p", { class: "what" }, item.id),
    h("p", {}, item.reason));
  return section("skipped", "Skipped",
    h("p", { class: "muted" }, "Skipped on purpose. This report has no numbers of theirs."),
    h("ul", { class: "reasons" }, shown.map(entry)),
    more ? h("p", { class: "muted" }, `and ${count(more)} more`) : null);
}

// -- the table of benchmarks ---------------------------------------------------------------------

const USUAL = 0.97; // of the changes, which the scale has to show
const BAR_OF_ROW = 180; // units of a drawing's width

// The scale that the changes of all benchmarks share: one of the rewards, without the extremes.
function overviewExtent(rows) {
  const metrics = rows
    .map((row) => row.metric)
    .filter((metric) => metric && metric.paired && !metric.score);
  if (!metrics.length) {
    return [-1, 1];
  }
  const sizes = metrics
    .flatMap(({ paired }) => [paired.gain, paired.low ?? 0, paired.high ?? 0])
    .map(Math.abs)
    .sort((a, b) => a - b);
  const usual = sizes[Math.floor(USUAL * (sizes.length - 1))] || 0.01;
  return [-1.1 * usual, 1.1 * usual];
}

function overviewBar(row, extent) {
  const { metric } = row;
  if (row.shown === "change" && metric.paired) {
    return changeBar(metric, metric.score ? extentOf([metric]) : extent, BAR_OF_ROW);
  }
  if (metric.limits.length) {
    return boundBar(metric, BAR_OF_ROW);
  }
  return h("span", { class: "muted" }, "not compared");
}

// Who was judged, how many tasks: "3 x 80".
function tasksText(row) {
  const each = count(row.tasks);
  return row.agents.length > 1 ? `${row.agents.length} × ${each}` : each;
}

const SHOWN_AGENTS = 4;

function agentNames(row) {
  if (!row.agents.length) {
    return null;
  }
  const shown = row.agents.slice(0, SHOWN_AGENTS);
  const more = row.agents.length - shown.length;
  const marks = shown.map((agent, k) => {
    const [verdict] = row.by_agent[agent] || [""];
    const [sign, kind] = WORDS[verdict] || ["", "none"];
    return [k ? " " : "", h("span", { class: `mark ${kind}` }, sign, " ", own(agent))];
  });
  return h("small", { class: "where agents" }, marks, more > 0 ? ` and ${more} more` : null);
}

const VERDICTS = ["FAIL", "INCONCLUSIVE", "ADVISORY", "WARN", "PASS"];

function benchmarkColumns() {
  const metricOf = (name) => (row) => (row.metric ? row.metric[name] : null);
  const gainOf = (row) => (row.metric && row.metric.paired ? row.metric.paired.gain : null);
  return [
    { key: "verdict", label: "Verdict", by: (row) => row.turn, class: "v" },
    { key: "name", label: "Benchmark", by: (row) => row.name },
    { key: "metric", label: "Metric", by: metricOf("name"), class: "md" },
    { key: "value", label: "Before → now", by: metricOf("value"), class: "n" },
    { key: "bar", label: "Worse ← → better", class: "lg bar-head" },
    { key: "change", label: "Change", by: gainOf, class: "n" },
    { key: "tasks", label: "Tasks", by: (row) => row.tasks, class: "n md" },
  ];
}

function nameCell(row) {
  return h("th", { scope: "row" },
    h("a", { href: target(row), class: "clamp", title: row.id }, own(row.name)),
    h("small", { class: "where clamp" }, own(row.file)),
    agentNames(row),
    row.shown === "reason" && row.reason ? h("small", { class: "block why clamp" }, own(row.reason)) : null,
    row.drift.length ? h("small", { class: "warning block" }, `Drift: ${row.drift[0]}`) : null);
}

function metricCell(row) {
  const { metric } = row;
  const whose = row.agents.length > 1 ? h("small", { class: "where" }, own(metric.agent)) : null;
  return h("td", { class: "md" }, metricCode(metric.name), whose);
}

function valueCell(row) {
  const { metric } = row;
  const isPair = row.shown === "change" && !isNone(metric.baseline);
  const before = isPair ? h("span", { class: "wide" }, `${num(metric.baseline)} → `) : null;
  return h("td", { class: "n" }, before, num(metric.value), h("small", { class: "sm-only muted" }, ` ${metric.name}`));
}

// What the value was held against: its change, or its bound.
function heldCell(row) {
  const { metric } = row;
  if (row.shown === "bound") {
    const bounds = metric.limits.map((limit) => `${limit.side === ">=" ? "≥" : "≤"} ${short(limit.at)}`);
    const kind = row.verdict === "PASS" ? "" : " down";
    return h("td", { class: "n" }, h("span", { class: `change${kind}` }, bounds[0] || "–"));
  }
  if (!metric.change) {
    return h("td", { class: "n" }, h("span", { class: "muted" }, "–"));
  }
  const isUnproven = metric.paired && metric.paired.unproven;
  return h("td", { class: "n" },
    changeText([metric.change[0]], metric.less, row.verdict),
    metric.p === null ? null : h("small", { class: "muted block" }, pValue(metric.p)),
    isUnproven ? h("small", { class: "unproven block" }, "not proven") : null);
}

function benchmarkRow(row, extent) {
  const missing = row.missing
    ? h("small", { class: "change down" }, ` ${count(row.missing)} missing`)
    : null;
  const known = row.xfail ? h("small", { class: "muted" }, " known (xfail)") : null;
  const cells = [h("td", { class: "v" }, badge(row.verdict), known), nameCell(row)];
  if (row.metric && row.shown !== "reason") {
    cells.push(metricCell(row), valueCell(row));
    cells.push(h("td", { class: "lg bar-cell" }, overviewBar(row, extent)));
    cells.push(heldCell(row));
  } else {
    const none = (kind) => h("td", { class: `${kind} muted` }, "–");
    cells.push(none("md"), none("n"), none("lg bar-head"), none("n"));
  }
  cells.push(h("td", { class: "n md" }, tasksText(row), missing));
  return h("tr", {}, cells);
}

// The tools above the table; `update` gets what is wanted.
function benchmarkTools(run, update) {
  const wanted = { text: "", verdict: "" };
  const search = h("input", {
    type: "search",
    id: "find-benchmark",
    input: (event) => {
      wanted.text = event.target.value.trim().toLowerCase();
      update(wanted);
    },
  });
  const there = VERDICTS.filter((verdict) => run.counts[verdict]);
  const options = there.map((verdict) => h("option", { value: verdict }, WORDS[verdict][2].toLowerCase()));
  const select = h("select", {
    id: "find-verdict",
    change: (event) => {
      wanted.verdict = event.target.value;
      update(wanted);
    },
  }, h("option", { value: "" }, "all"), options);
  return h("div", { class: "tools" },
    h("label", {}, "Search", search),
    h("label", {}, "Verdict", select));
}

const MANY_ROWS = 5; // above which a table has a search

function benchmarksTable(run, rows) {
  const extent = overviewExtent(rows);
  rows.forEach((row, k) => {
    row.turn = k; // they come by evidence
  });
  const list = sortedTable({
    caption: "Benchmarks",
    sort: { key: "verdict", way: 1 },
    empty: "No benchmark matches.",
    columns: benchmarkColumns(),
    row: (row) => [benchmarkRow(row, extent)],
  });
  list.table.classList.add("overview");
  const textOf = (row) => {
    const metric = row.metric ? row.metric.name : "";
    return `${row.id} ${metric} ${row.agents.join(" ")} ${row.reason}`.toLowerCase();
  };
  const tools = benchmarkTools(run, (wanted) => {
    const found = rows.filter((row) =>
      (!wanted.verdict || row.verdict === wanted.verdict) && textOf(row).includes(wanted.text));
    list.update(found);
    if (wanted.text || wanted.verdict) {
      say(plural(found.length, "benchmark"));
    }
  });
  list.update(rows);
  return section("all", "Benchmarks",
    leftOut(run),
    rows.length > MANY_ROWS ? tools : null,
    list.element);
}

// -- the matrix of agents --------------------------------------------------------------------------

function agentCell(row, agent) {
  if (!Object.hasOwn(row.by_agent, agent)) {
    return h("td", { class: "n muted" }, "–");
  }
  const [verdict, value] = row.by_agent[agent];
  const [sign, kind, word] = WORDS[verdict] || ["", "none", "not gated"];
  return h("td", { class: "n" }, h("span", { class: `change mark ${kind}` },
    h("span", { "aria-hidden": "true" }, sign),
    h("span", { class: "hidden-text" }, word),
    " ",
    num(value)));
}

function isRed(row, agent) {
  const [verdict] = row.by_agent[agent] || [""];
  return verdict === "FAIL" || verdict === "INCONCLUSIVE";
}

// Each benchmark in a row and each agent in a column, where there are several.
function agentsTable(rows) {
  const several = rows.filter((row) => Object.keys(row.by_agent).length);
  const agents = [...new Set(several.flatMap((row) => Object.keys(row.by_agent)))];
  if (!agents.length) {
    return null;
  }
  const redOf = new Map(agents.map((agent) => [agent, several.filter((row) => isRed(row, agent)).length]));
  agents.sort((a, b) => redOf.get(b) - redOf.get(a));
  // a benchmark without any number has no agents; it is judged all the same
  const unjudged = rows.filter((row) =>
    row.verdict === "INCONCLUSIVE" && !Object.keys(row.by_agent).length);
  const agentColumns = agents.map((agent, k) => {
    const red = redOf.get(agent);
    return { key: `a${k}`, label: red ? `${agent} (${count(red)} red)` : agent, class: "n" };
  });
  const list = sortedTable({
    caption: "Agents",
    page: 25,
    columns: [
      { key: "name", label: "Benchmark", by: (row) => row.name },
      { key: "metric", label: "Metric", class: "md" },
      ...agentColumns,
    ],
    row: (row) => [h("tr", {},
      h("th", { scope: "row" }, linkTo(row)),
      h("td", { class: "md" }, row.metric ? metricCode(row.metric.name) : badge(row.verdict)),
      agents.map((agent) => agentCell(row, agent)))],
  });
  list.update([...several, ...unjudged]);
  return section("agents", "Agents", list.element);
}

// -- what is omitted -------------------------------------------------------------------------------

function leftOut(run) {
  const { rows, about, tasks, brief: cut, short: shortened } = run.left_out;
  const phrases = [];
  const add = (benchmarks, one, many) => {
    if (benchmarks) {
      phrases.push(`${plural(benchmarks, "benchmark")} ${benchmarks === 1 ? one : many}`);
    }
  };
  add(rows, "is not in this table", "are not in this table");
  add(about, "has no page of its own", "have no page of their own");
  add(shortened, "that fails has a short page", "that fail have a short page");
  add(tasks, "has no tasks listed", "have no tasks listed");
  add(cut, "has only fifty tasks listed", "have only fifty tasks listed");
  if (!phrases.length) {
    return null;
  }
  const left = phrases.join("; ");
  return h("p", { class: "note" },
    `Omitted to keep this page small: ${left}. Failures are kept first; report.json has everything.`);
}

function overviewPage(run, rows) {
  const parts = [
    inTheWay(run, rows),
    rows.length ? benchmarksTable(run, rows) : null,
    agentsTable(rows),
    skippedOnes(run),
  ];
  return [verdictCard(run), contents(parts), parts];
}
