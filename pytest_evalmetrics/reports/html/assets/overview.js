// The run at a glance: the verdict, what to fix, every benchmark in one table.

// When the run ended, and what it judged.
function originLine(origin) {
  const parts = [];
  if (origin.time) parts.push(h("time", { datetime: origin.time }, origin.time.replace("T", " ").replace("Z", " UTC")));
  if (origin.branch) parts.push(origin.branch);
  if (origin.commit) parts.push(h("code", {}, origin.commit.slice(0, 10)));
  if (/^https?:/.test(origin.url || "")) parts.push(h("a", { href: origin.url, rel: "noreferrer" }, "CI job"));
  return parts.flatMap((part) => [" · ", part]).slice(1);
}

const target = (item) => `#/${encodeURIComponent(item.id)}`;

function verdictLine(run) {
  const known = run.counts;
  const bad = known.FAIL + known.INCONCLUSIVE;
  if (!run.benchmarks && !run.lost) return "No benchmark was evaluated.";
  const phrases = [];
  if (known.FAIL) phrases.push(`${count(known.FAIL)} ${known.FAIL === 1 ? "fails" : "fail"}`);
  if (known.INCONCLUSIVE) phrases.push(`${count(known.INCONCLUSIVE)} could not be judged`);
  if (known.WARN) phrases.push(`${count(known.WARN)} ${known.WARN === 1 ? "warns" : "warn"}`);
  if (run.lost) phrases.push(`${count(run.lost)} ${run.lost === 1 ? "was" : "were"} not evaluated`);
  const all = plural(run.benchmarks + run.lost, "benchmark");
  const left = (run.skips ? ` ${plural(run.skips, "benchmark")} ${run.skips === 1 ? "was" : "were"} skipped.` : "")
    + (run.deselected ? ` ${count(run.deselected)} ${run.deselected === 1 ? "was" : "were"} deselected.` : "");
  if (!bad && !known.WARN && !run.lost) {
    return (run.benchmarks === 1 ? "The benchmark passes." : `All ${all} pass.`) + left;
  }
  return `Of ${all}, ${phrases.join(", ")}.`
    + (run.known_to_fail ? ` ${plural(run.known_to_fail, "benchmark")} expected to fail (xfail) ${run.known_to_fail === 1 ? "does" : "do"} not count.` : "")
    + left;
}

const WARNINGS = 5; // lines

// Drift and old baselines, which do not fail a run.
function warningLines(run) {
  const lines = [
    ...run.drifts.map((text) => ["Drift: ", text]),
    ...run.stale.map((text) => ["Old baseline: ", text]),
  ];
  const shown = lines.slice(0, WARNINGS).map(([what, text]) => h("p", { class: "warning" }, h("b", {}, what), own(text)));
  const more = lines.length - WARNINGS;
  return [shown, more > 0 ? h("p", { class: "muted" }, `and ${plural(more, "more warning")}`) : null];
}

function verdictCard(run) {
  const [, kind] = WORDS[run.verdict];
  const parts = [["FAIL", run.counts.FAIL], ["INCONCLUSIVE", run.counts.INCONCLUSIVE + run.lost], ["WARN", run.counts.WARN], ["PASS", run.counts.PASS]].filter((p) => p[1]);
  return h("div", { class: `verdict ${kind}` },
    h("h1", { id: "verdict", tabindex: "-1" }, badge(run.verdict, true), h("span", { class: "hidden-text" }, " – the run")),
    h("p", { class: "lead" }, verdictLine(run)),
    warningLines(run),
    run.chance ? h("p", { class: "muted" }, `${run.chance[0].toUpperCase()}${run.chance.slice(1)}.`) : null,
    parts.length > 1 || run.benchmarks > 1 ? h("div", { class: "share", "aria-hidden": "true" }, parts.map(([verdict, n]) => {
      const piece = h("span", { class: WORDS[verdict][1] });
      piece.style.flexGrow = String(n);
      return piece;
    })) : null,
    parts.length > 1 ? h("ul", { class: "counts" }, parts.map(([verdict, n]) =>
      h("li", {}, h("span", { class: `dot ${WORDS[verdict][1]}`, "aria-hidden": "true" }), `${count(n)} ${WORDS[verdict][2].toLowerCase()}`))) : null);
}

function inTheWay(run, rows) {
  const telling = rows.filter((r) => r.reason && !r.xfail && r.verdict !== "PASS");
  const lost = run.not_evaluated;
  if (!telling.length && !lost.length) return null;
  const shown = telling.slice(0, run.causes.length ? 0 : 6); // causes say it
  const entry = (verdict, head, text, more) => h("li", { class: WORDS[verdict][1] },
    h("p", { class: "what" }, h("span", { class: "sign", "aria-hidden": "true" }, WORDS[verdict][0]), head,
      h("span", { class: "hidden-text" }, ` ${WORDS[verdict][2]}`)),
    h("p", {}, own(text), more ? h("span", { class: "muted" }, ` (and ${plural(more, "more reason")})`) : null));
  return h("section", { "aria-labelledby": "way", class: "part" },
    h("h2", { id: "way" }, "What to fix"),
    run.causes.length ? h("ul", { class: "reasons causes" }, run.causes.map(([head, text, command]) => h("li", { class: head.startsWith("INC") ? "unsure" : head.startsWith("and") ? "left" : "fail" },
      h("p", { class: "what" }, head), text ? h("p", {}, text) : null, command ? h("p", {}, h("code", {}, command)) : null))) : null,
    h("ul", { class: "reasons" },
      shown.map((r) => entry(r.verdict, h("a", { href: target(r), class: "clamp" }, own(r.name)), r.reason, r.reasons - 1)),
      lost.slice(0, 8).map((id) => entry("INCONCLUSIVE", h("span", {}, id), run.broken_off.includes(id)
        ? "It stopped after a check, before its end. Further checks may be missing."
        : "It was collected but not evaluated: a crash, -x, or an interrupt."))),
    telling.length > shown.length || run.lost > 8
      ? h("p", { class: "muted" }, `and ${count(telling.length - shown.length + Math.max(0, run.lost - 8))} more, in the table below`) : null);
}

function skippedOnes(run) {
  if (!run.skips) return null;
  const shown = run.skipped.slice(0, 20);
  return h("section", { "aria-labelledby": "skipped", class: "part" },
    h("h2", { id: "skipped" }, "Skipped"),
    h("p", { class: "muted" }, "Skipped on purpose. This report has no numbers of theirs."),
    h("ul", { class: "reasons" }, shown.map((s) => h("li", { class: "left" }, h("p", { class: "what" }, s.id), h("p", {}, s.reason)))),
    run.skips > shown.length ? h("p", { class: "muted" }, `and ${count(run.skips - shown.length)} more`) : null);
}

// The scale that the changes of all benchmarks share: one of the rewards, without the extremes.
function overviewExtent(rows) {
  const metrics = rows.map((row) => row.metric).filter((metric) => metric && metric.paired && !metric.score);
  if (!metrics.length) {
    return [-1, 1];
  }
  const sizes = metrics
    .flatMap(({ paired }) => [paired.gain, paired.low ?? 0, paired.high ?? 0])
    .map(Math.abs)
    .sort((a, b) => a - b);
  const usual = sizes[Math.floor(0.97 * (sizes.length - 1))] || 0.01;
  return [-1.1 * usual, 1.1 * usual];
}

function overviewBar(metric, extent) {
  if (!metric) {
    return "–";
  }
  if (metric.paired) {
    return changeBar(metric, metric.score ? extentOf([metric]) : extent, 180);
  }
  return metric.limits.length ? boundBar(metric, 180) : h("span", { class: "muted" }, "not compared");
}

// Who was judged, how many tasks: "3 x 80".
function tasksText(row) {
  const each = count(row.tasks);
  return row.agents.length > 1 ? `${row.agents.length} × ${each}` : each;
}

function agentNames(row) {
  if (!row.agents.length) {
    return null;
  }
  const shown = row.agents.slice(0, 4);
  const more = row.agents.length - shown.length;
  const marks = shown.map((agent, k) => {
    const [verdict] = row.by_agent[agent] || [""];
    const [sign, kind] = WORDS[verdict] || ["", "none"];
    return [k ? " " : "", h("span", { class: `mark ${kind}` }, sign, " ", own(agent))];
  });
  return h("small", { class: "where agents" }, marks, more > 0 ? ` and ${more} more` : null);
}

const VERDICTS = ["FAIL", "INCONCLUSIVE", "WARN", "PASS"];

function benchmarkColumns() {
  const verdictOf = (row) => row.turn;
  const metricOf = (name) => (row) => (row.metric ? row.metric[name] : null);
  const gainOf = (row) => (row.metric && row.metric.paired ? row.metric.paired.gain : null);
  return [
    { key: "verdict", label: "Verdict", by: verdictOf, class: "v" },
    { key: "name", label: "Benchmark", by: (row) => row.name },
    { key: "metric", label: "Metric", by: metricOf("name"), class: "md" },
    { key: "value", label: "Before → now", by: metricOf("value"), class: "n" },
    { key: "bar", label: "Worse ← → better", class: "lg bar-head" },
    { key: "change", label: "Change", by: gainOf, class: "n" },
    { key: "tasks", label: "Tasks", by: (row) => row.tasks, class: "n md" },
  ];
}

function benchmarkRow(row, extent) {
  const { metric } = row;
  const isCompared = Boolean(metric && metric.change);
  const values = metric && !isNone(metric.baseline) ? `${num(metric.baseline)} → ${num(metric.value)}` : metric && num(metric.value);
  return h("tr", {},
    h("td", { class: "v" }, badge(row.verdict), row.xfail ? h("small", { class: "muted" }, " known (xfail)") : null),
    h("th", { scope: "row" },
      h("a", { href: target(row), class: "clamp", title: row.id }, own(row.name)),
      h("small", { class: "where clamp" }, own(row.file)),
      agentNames(row),
      row.drift.length ? h("small", { class: "warning block" }, row.drift[0]) : null),
    h("td", { class: "md" }, metric ? [h("code", {}, metric.name), row.agents.length > 1 ? h("small", { class: "where" }, own(metric.agent)) : null] : "–"),
    h("td", { class: "n" }, values || "–", metric ? h("small", { class: "sm-only muted" }, ` ${metric.name}`) : null),
    h("td", { class: "lg bar-cell" }, overviewBar(metric, extent)),
    h("td", { class: "n" },
      isCompared ? changeText([metric.change[0]], metric.less, row.verdict) : h("span", { class: "muted" }, "–"),
      isCompared && metric.p !== null ? h("small", { class: "muted block" }, pValue(metric.p)) : null,
      isCompared && metric.paired && metric.paired.unproven ? h("small", { class: "unproven block" }, "not proven") : null),
    h("td", { class: "n md" }, tasksText(row), row.missing ? h("small", { class: "change down" }, ` ${count(row.missing)} missing`) : null));
}

function benchmarksTable(run, rows) {
  const extent = overviewExtent(rows);
  rows.forEach((row, k) => { row.turn = k; }); // they come by evidence
  const list = sortedTable({
    caption: "Benchmarks",
    sort: { key: "verdict", way: 1 },
    empty: "No benchmark matches.",
    columns: benchmarkColumns(),
    row: (row) => [benchmarkRow(row, extent)],
  });
  list.table.classList.add("overview");
  const wanted = { text: "", verdict: "" };
  const isWanted = (row) => {
    const text = `${row.id} ${row.metric ? row.metric.name : ""} ${row.agents.join(" ")} ${row.reason}`;
    return (!wanted.verdict || row.verdict === wanted.verdict) && text.toLowerCase().includes(wanted.text);
  };
  const update = () => {
    const found = rows.filter(isWanted);
    list.update(found);
    if (wanted.text || wanted.verdict) {
      say(plural(found.length, "benchmark"));
    }
  };
  const search = h("input", {
    type: "search", id: "find-benchmark",
    input: (event) => {
      wanted.text = event.target.value.trim().toLowerCase();
      update();
    },
  });
  const verdicts = VERDICTS.filter((verdict) => run.counts[verdict]);
  const select = h("select", {
    id: "find-verdict",
    change: (event) => {
      wanted.verdict = event.target.value;
      update();
    },
  }, h("option", { value: "" }, "all"),
  verdicts.map((verdict) => h("option", { value: verdict }, WORDS[verdict][2].toLowerCase())));
  const tools = h("div", { class: "tools" }, h("label", {}, "Search", search), h("label", {}, "Verdict", select));
  update();
  return section("all", "Benchmarks", leftOut(run), rows.length > 5 ? tools : null, list.element);
}

// Each benchmark in a row and each agent in a column, where there are several.
function agentsTable(rows) {
  const several = rows.filter((row) => Object.keys(row.by_agent).length);
  const agents = [...new Set(several.flatMap((row) => Object.keys(row.by_agent)))];
  if (!agents.length) {
    return null;
  }
  const isRed = (row, agent) => ["FAIL", "INCONCLUSIVE"].includes((row.by_agent[agent] || [])[0]);
  const red = (agent) => several.filter((row) => isRed(row, agent)).length;
  agents.sort((a, b) => red(b) - red(a));
  // a benchmark without any number has no agents; it is judged all the same
  const unjudged = rows.filter((row) => row.verdict === "INCONCLUSIVE" && !Object.keys(row.by_agent).length);
  const cell = (row, agent) => {
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
  };
  const agentColumns = agents.map((agent, k) => {
    const label = red(agent) ? `${agent} (${count(red(agent))} red)` : agent;
    return { key: `a${k}`, label, class: "n" };
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
      h("th", { scope: "row" }, h("a", { href: target(row), class: "clamp" }, own(row.name))),
      h("td", { class: "md" }, row.metric ? h("code", {}, row.metric.name) : badge(row.verdict)),
      agents.map((agent) => cell(row, agent)))],
  });
  list.update([...several, ...unjudged]);
  return section("agents", "Agents", list.element);
}

function leftOut(run) {
  const { rows, about, tasks, brief: cut, short } = run.left_out;
  const phrases = [];
  if (rows) phrases.push(`${plural(rows, "benchmark")} ${rows === 1 ? "is" : "are"} not in this table`);
  if (about) phrases.push(`${plural(about, "benchmark")} ${about === 1 ? "has" : "have"} no page of ${about === 1 ? "its" : "their"} own`);
  if (short) phrases.push(`${plural(short, "benchmark")} that ${short === 1 ? "fails has" : "fail have"} a short page`);
  if (tasks) phrases.push(`${plural(tasks, "benchmark")} ${tasks === 1 ? "has" : "have"} no tasks listed`);
  if (cut) phrases.push(`${plural(cut, "benchmark")} ${cut === 1 ? "has" : "have"} only fifty tasks listed`);
  return phrases.length ? h("p", { class: "note" }, `Omitted to keep this page small: ${phrases.join("; ")}. Failures are kept first; report.json has everything.`) : null;
}

function overviewPage(run, rows) {
  const parts = [inTheWay(run, rows), rows.length ? benchmarksTable(run, rows) : null, agentsTable(rows), skippedOnes(run)];
  return [verdictCard(run), contents(parts), parts];
}
