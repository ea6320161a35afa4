// One benchmark: why its verdict is what it is, its metrics, tasks, distributions, origin.

function reasonsPart(about) {
  const telling = about.checks.filter((c) => c.verdict !== "PASS" && c.reason);
  if (!telling.length) return null;
  return section("why", "Why", h("ul", { class: "reasons" }, telling.map((c, k) => h("li", { class: WORDS[c.verdict][1] },
    h("p", { class: "what" }, badge(c.verdict), c.gate === "data" ? null : h("code", {}, c.name), c.agent ? h("span", {}, `of ${c.agent}`) : null),
    h("p", {}, c.reason),
    c.hint && (k + 1 === telling.length || telling[k + 1].hint !== c.hint) ? h("p", { class: "hint" }, c.hint) : null,
    c.details.length ? h("details", {}, h("summary", {}, "Evidence"), h("ul", {}, c.details.map((d) => h("li", {}, d)))) : null))));
}

function metricsTable(metrics, several, label) {
  return scrolling(label, h("table", { class: "metrics", role: "table" }, h("caption", { class: "hidden-text" }, label),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, [["Verdict", "v"], ["Metric", ""], ["Value", "n"], ["Interval", ""], ["Baseline", "n md"], ["Change", "n"], ["Expected", "lg"]]
      .map(([name, kind]) => h("th", { scope: "col", role: "columnheader", class: kind }, name)))),
    h("tbody", { role: "rowgroup" }, metrics.map((m) => asRow(h("tr", {},
      h("td", { class: "v" }, badge(m.verdict)),
      h("th", { scope: "row", role: "rowheader" }, h("code", {}, m.name), several ? h("small", { class: "where" }, m.agent) : null),
      h("td", { class: "n" }, num(m.value)),
      h("td", { class: "bar-cell" }, intervalBar(m, true), h("small", { class: "muted block" }, intervalText(m))),
      h("td", { class: "n md" }, num(m.baseline)),
      h("td", { class: "n" }, changeText(m.change, m.less, m.verdict), m.p !== null ? h("small", { class: "muted block" }, pValue(m.p)) : null),
      h("td", { class: "lg" }, m.bounds.map((b) => h("span", { class: "block" }, b)))))))));
}

// On a phone a row becomes a card, and would no longer be a row to who listens.
function asRow(row) {
  row.setAttribute("role", "row");
  for (const cell of row.querySelectorAll("td")) cell.setAttribute("role", "cell");
  return row;
}

const intervalText = (m) => (m.low === null || m.low === undefined ? (m.unsure ? "no interval" : "")
  : `${num(m.low)} to ${num(m.high)} · ${percent(m.level)} ${m.method}`);

function metricsPart(about) {
  const several = about.agents.length > 1;
  const gated = about.metrics.filter((m) => m.verdict);
  const others = about.metrics.filter((m) => !m.verdict);
  const few = others.length <= 6 || !gated.length;
  const first = few ? about.metrics.slice(0, 40) : gated;
  const rest = few ? about.metrics.slice(40) : others;
  return section("metrics", "Metrics", legend(), metricsTable(first, several, "Metrics"),
    rest.length ? h("details", { class: "more-metrics" }, h("summary", {}, `${count(rest.length)} more, not gated`), metricsTable(rest, several, "Further metrics")) : null,
    about.more_metrics ? h("p", { class: "note" }, `${count(about.more_metrics)} more metrics are in report.json.`) : null);
}

// Where the change lies: the tasks of each value of a field, the worst first.
function breakdownTable(part, picture) {
  const less = picture.lower.includes(picture.reward);
  return scrolling(`By ${part.field}`, h("table", { class: "small" }, h("caption", {}, "By ", h("code", {}, part.field)),
    cells([part.field, "Tasks", "Before", "Now", "Change", "Worse", "Better"]),
    h("tbody", {}, part.values.map((v) => h("tr", {}, h("th", { scope: "row" }, v.value), h("td", { class: "n" }, count(v.tasks)),
      h("td", { class: "n" }, num(v.was)), h("td", { class: "n" }, num(v.now)),
      h("td", { class: "n" }, changeText([Number((v.now - v.was).toPrecision(6))], less, v.worse || v.better ? "FAIL" : "")),
      h("td", { class: "n" }, count(v.worse)), h("td", { class: "n" }, count(v.better)))))));
}

function agentParts(picture, found, prefix, name, item) {
  const parts = [];
  const title = (text) => (name ? `${text} of ${name}` : text);
  const { compared } = picture;
  const flips = compared && compared.pairs.length ? h("div", { class: "flips" },
    flipsChart(compared, picture.reward, picture.lower.includes(picture.reward)),
    h("div", {}, h("p", { class: "tally" },
      [["down", compared.worse, "worse"], ["up", compared.better, "better"], ["", compared.same, "unchanged"], ["", compared.new, "new"], ["", compared.gone, "gone"]]
        .filter((p, k) => k < 3 || p[1]).map(([kind, n, word]) => h("span", { class: `change ${n ? kind : ""}` }, h("b", {}, count(n)), ` ${word}`))),
    h("p", { class: "muted" }, `Each circle groups tasks by their ${picture.reward} before and now; its size shows how many there are. Tasks on the dashed line did not change, and those ${picture.lower.includes(picture.reward) ? "above" : "below"} it got worse.`))) : null;
  parts.push(section(`${prefix}-tasks`, title("Tasks"), flips, picture.parts.map((part) => breakdownTable(part, picture)),
    found ? tasksPart(found, picture, prefix, item) : h("p", { class: "note" }, "Tasks are omitted to keep this page small; report.json has them.")));
  if (picture.distributions.length) {
    parts.push(section(`${prefix}-dist`, title("Distributions"),
      h("p", { class: "muted" }, "Share of rollouts in per cent, before and now."),
      h("div", { class: "grid" }, picture.distributions.map((d) => h("div", { class: "card" },
        h("h3", {}, h("code", {}, d.score)), histogramChart(d), distributionTable(d))))));
  }
  return parts;
}

function errorsPart(about) {
  if (!about.failures.length) return null;
  return section("errors", "Errors", about.failures.map((f) => h("div", { class: "errors" },
    h("p", {}, h("b", {}, f.scorer), ` could not score ${plural(f.count, "row")}: `, h("code", {}, f.scores.join(", "))),
    f.kinds.map((kind) => h("details", { open: f.kinds.length === 1 },
      h("summary", {}, h("code", {}, kind.kind), ` ${plural(kind.count, "row")}`),
      h("ul", { class: "messages" }, kind.rows.map((r) => h("li", { class: "error" },
        h("p", {}, h("code", { class: "place" }, r.row)), h("p", { class: "pre" }, r.reason), r.hint ? h("p", { class: "hint" }, r.hint) : null))),
      kind.count > kind.rows.length ? h("p", { class: "muted" }, `${count(kind.count - kind.rows.length)} more in row_scores.jsonl`) : null)))));
}

const cells = (names) => h("thead", {}, h("tr", {}, names.map((name, k) => h("th", { scope: "col", class: k ? "n" : "" }, name))));

function judgesPart(about) {
  const { judges, judge_checks: checks, agreements } = about;
  if (!judges.length && !checks.length && !agreements.length) return null;
  return section("judges", "Judges",
    judges.length ? scrolling("Calls of judges", h("table", { class: "small" }, h("caption", {}, "Calls"),
      cells(["Model", "Scores", "Answers", "Tokens", "Cost", "95th percentile"]),
      h("tbody", {}, judges.map((j) => h("tr", {}, h("th", { scope: "row" }, j.model, h("small", { class: "where" }, j.scorer)), h("td", { class: "n" }, h("code", {}, j.scores.join(", "))),
        h("td", { class: "n" }, count(j.calls)), h("td", { class: "n" }, count(j.total_tokens)), h("td", { class: "n" }, num(j.cost)), h("td", { class: "n" }, `${brief(j.latency_s.p95)} s`)))))) : null,
    checks.length ? scrolling("Agreement with people's labels", h("table", { class: "small" }, h("caption", {}, "Agreement with people's labels"),
      cells(["Score", "Rows", "Not scored", "Accuracy", "Kappa", "Weighted kappa"]),
      h("tbody", {}, checks.map((c) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, c.score), c.reason ? h("small", { class: "where" }, c.reason) : null),
        [count(c.rows), count(c.failed), num(c.accuracy), num(c.kappa), num(c.quadratic_kappa)].map((text) => h("td", { class: "n" }, text))))))) : null,
    checks.filter((c) => c.first.length).map((c) => h("details", {}, h("summary", {}, `Rows where ${c.score} differs from people's labels`), h("ul", {}, c.first.map((d) =>
      h("li", {}, h("code", { class: "place" }, d.row), `: ${num(d.judge)} by the judge, ${num(d.label)} by a person`))))),
    agreements.length ? h("ul", {}, agreements.map((a) => h("li", {}, h("code", {}, a.score), a.alpha === null ? `: the agreement of ${count(a.judges)} judges is undefined: ${a.reason}` : `: ${count(a.judges)} judges, Krippendorff's alpha ${num(a.alpha)} over ${plural(a.rows, "row")}`))) : null);
}

function historyPart(about) {
  const { runs, lines } = about.history;
  if (!lines) return null;
  const name = (line) => (line.agent ? `${line.agent}: ` : "") + line.metric;
  return section("history", "History",
    (runs[runs.length - 1].drift || []).map((text) => h("p", {}, h("b", {}, "Drift: "), text)),
    h("div", { class: "grid" }, lines.map((line) => h("div", { class: "card" }, h("h3", {}, h("code", {}, name(line))), lineChart(line, runs)))),
    h("details", {}, h("summary", {}, `The last ${plural(runs.length, "run")}`), scrolling("The last runs", h("table", { class: "small" },
      h("caption", { class: "hidden-text" }, "The last runs"), cells(["Time", "Commit", "Verdict", ...lines.map(name)]),
      h("tbody", {}, runs.map((r, i) => h("tr", {}, h("th", { scope: "row" }, r.time, r.reason ? h("span", { class: "block muted" }, `accepted: ${r.reason}`) : null), h("td", { class: "n" }, /^https?:/.test(r.url || "") ? h("a", { href: r.url, rel: "noreferrer" }, h("code", {}, (r.commit || "run").slice(0, 10))) : h("code", {}, r.commit ? r.commit.slice(0, 10) : "–")), h("td", { class: "n" }, badge(r.verdict)), lines.map((line) => h("td", { class: "n" }, num(line.values[i]))))))))));
}

function originPart(item, about) {
  const against = [...new Set(Object.values(about.pictures).map((p) => p.against).filter(Boolean))];
  return section("origin", "Sources",
    h("dl", {},
      h("dt", {}, "Benchmark"), h("dd", {}, h("code", { class: "place" }, `${item.file}:${about.line}`)),
      h("dt", {}, "Agents"), h("dd", {}, about.agents.length ? about.agents.map((a) => h("span", { class: "block" }, h("b", {}, a.agent), `: ${plural(a.tasks, "task")}, ${plural(a.rollouts, "rollout")}${a.missing ? `, ${count(a.missing)} missing` : ""}`)) : "none"),
      against.length ? [h("dt", {}, "Compared with"), h("dd", {}, against.map((text) => h("span", { class: "block place" }, text)))] : null,
      about.recorded.length ? [h("dt", {}, "Recorded"), h("dd", {}, about.recorded.map((line) => h("span", { class: "block" }, line)))] : null),
    about.sources.length ? scrolling("Files", h("table", { class: "small" }, h("caption", {}, "Files read"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "File"), h("th", { scope: "col", class: "n" }, "Rows"), h("th", { scope: "col", class: "n" }, "Size"))),
      h("tbody", {}, about.sources.map((f) => h("tr", {}, h("th", { scope: "row" }, h("code", { class: "place" }, f.path)), h("td", { class: "n" }, count(f.rows)), h("td", { class: "n" }, bytes(f.size))))))) : null,
    about.more_sources ? h("p", { class: "muted" }, `and ${count(about.more_sources)} more files`) : null,
    about.notes.length ? [h("h3", {}, "Notes"), h("ul", {}, about.notes.map((n) => h("li", {}, n)))] : null,
    h("details", {}, h("summary", {}, `All checks (${count(about.checks.length)})`), scrolling("Checks", h("table", { class: "small" },
      h("caption", { class: "hidden-text" }, "Checks"),
      h("thead", {}, h("tr", {}, ["Verdict", "Gate", "What", "Found", "Expected", "Line"].map((t, k) => h("th", { scope: "col", class: k === 3 || k === 5 ? "n" : "" }, t)))),
      h("tbody", {}, about.checks.map((c) => h("tr", {}, h("td", {}, badge(c.verdict)), h("td", {}, c.gate), h("th", { scope: "row" }, h("code", {}, (c.agent ? `${c.agent}: ` : "") + c.name)), h("td", { class: "n" }, num(c.value)), h("td", {}, c.bound), h("td", { class: "n" }, c.line))))))));
}

function benchmarkParts(item, at) {
  const about = data(`about-${at}`);
  if (!about) return [h("p", { class: "note" }, "This benchmark passes. Its details are omitted to keep this page small; report.json has them.")];
  const found = data(`tasks-${at}`) || {};
  const several = about.agents.length > 1;
  return [
    about.description ? h("p", { class: "description" }, about.description) : null,
    reasonsPart(about),
    answersPart(about),
    about.metrics.length ? metricsPart(about) : null,
    errorsPart(about),
    historyPart(about),
    about.agents.flatMap((a, k) => (Object.hasOwn(about.pictures, a.agent)
      ? agentParts(about.pictures[a.agent], Object.hasOwn(found, a.agent) && found[a.agent], `a${k}`, several ? a.agent : "", item) : [])),
    about.short ? h("p", { class: "note" }, "This page is shortened because many benchmarks fail; report.json has the rest.") : null,
    judgesPart(about),
    originPart(item, about),
  ];
}

function benchmarkPage(rows, at, alone) {
  const item = rows[at];
  const step = (to, text) => (rows[to] ? h("a", { href: target(rows[to]) }, text) : null);
  return [
    alone ? null : h("nav", { class: "steps", "aria-label": "Benchmarks" }, h("a", { href: "#/" }, "← All benchmarks"),
      h("span", {}, step(at - 1, "Previous"), step(at + 1, "Next"))),
    h("div", { class: `verdict ${WORDS[item.verdict][1]} one` },
      h("h1", { tabindex: "-1" }, item.name, " ", badge(item.verdict, true)),
      h("p", { class: "place" }, item.id),
      item.xfail ? h("p", { class: "muted" }, "Expected to fail (xfail): it does not count.") : null),
    benchmarkParts(item, at),
  ];
}
