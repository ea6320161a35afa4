// One benchmark: its verdict, the tested change, why, its tasks, distributions, origin.

// -- the head --------------------------------------------------------------------------------

// The gated metric that says most: the worst verdict first, then the surest change.
function strongest(about) {
  const gated = about.metrics.filter((metric) => metric.paired && metric.verdict);
  const order = ["FAIL", "INCONCLUSIVE", "WARN", "PASS"];
  const rank = (metric) => order.indexOf(metric.verdict) * 10 + (metric.p ?? 1);
  return gated.sort((a, b) => rank(a) - rank(b))[0];
}

function headSentence(about) {
  const metric = strongest(about);
  if (!metric) {
    return null;
  }
  const { paired } = metric;
  const parts = [`${count(paired.worse)} of ${plural(paired.tasks, "task")} worse, ${count(paired.better)} better`];
  if (metric.p !== null) {
    parts.push(pValue(metric.p));
  }
  if (paired.unproven) {
    parts.push("a loss that would matter, but is not proven");
  }
  if (metric.verdict === "PASS" && paired.detectable) {
    parts.push(`sees losses from ${brief(paired.detectable)} on`);
  }
  const whose = about.agents.length > 1 ? [own(metric.agent), " "] : null;
  return h("p", { class: "lead" }, whose,
    h("b", {}, h("code", {}, metric.name), ` ${num(metric.baseline)} → ${num(metric.value)}`),
    `: ${parts.join("; ")}.`);
}

function commandsOf(about) {
  const command = (name, text) => h("p", {}, h("span", { class: "muted" }, `${name} `), h("code", {}, text));
  return h("div", { class: "commands" },
    about.again ? command("Run again:", about.again) : null,
    about.accept ? command("Accept the change:", about.accept) : null);
}

function warningsOf(item) {
  const drift = item.drift.map((text) => h("p", { class: "warning" }, h("b", {}, "Drift: "), text));
  const stale = item.stale ? h("p", { class: "warning" }, h("b", {}, "Old baseline: "), item.stale) : null;
  return [drift, stale];
}

function benchmarkHead(item, about) {
  return h("div", { class: `verdict ${WORDS[item.verdict][1]} one` },
    h("h1", { tabindex: "-1" }, h("bdi", { dir: "auto", class: "clamp", title: item.name }, item.name), " ", badge(item.verdict, true)),
    h("p", { class: "place clamp", title: item.id }, own(item.id)),
    item.xfail ? h("p", { class: "muted" }, "Expected to fail (xfail): it does not count.") : null,
    about ? headSentence(about) : null,
    warningsOf(item),
    about ? commandsOf(about) : null);
}

// -- why -------------------------------------------------------------------------------------

function reasonsPart(about) {
  const telling = about.checks.filter((check) => check.verdict !== "PASS" && check.reason);
  if (!telling.length) {
    return null;
  }
  const reason = (check, k) => {
    const next = telling[k + 1];
    const isLastHint = check.hint && (!next || next.hint !== check.hint);
    return h("li", { class: WORDS[check.verdict][1] },
      h("p", { class: "what" },
        badge(check.verdict),
        check.gate === "data" ? null : h("code", {}, check.name),
        check.agent ? h("span", {}, "of ", own(check.agent)) : null),
      h("p", {}, own(check.reason)),
      isLastHint ? h("p", { class: "hint" }, check.hint) : null,
      check.details.length
        ? h("details", {}, h("summary", {}, "Evidence"), h("ul", {}, check.details.map((line) => h("li", {}, own(line)))))
        : null);
  };
  return section("why", "Why", h("ul", { class: "reasons" }, telling.map(reason)));
}

// -- the changes and the values --------------------------------------------------------------

const BAR = 420; // units of a drawing's width

function metricName(metric, several) {
  return h("th", { scope: "row", role: "rowheader" },
    h("code", {}, metric.name),
    several ? h("small", { class: "where" }, own(metric.agent)) : null);
}

// On a phone a row becomes a card, and would no longer be a row to who listens.
function asRow(row) {
  row.setAttribute("role", "row");
  for (const cell of row.querySelectorAll("td")) {
    cell.setAttribute("role", "cell");
  }
  return row;
}

function metricsHead(names) {
  return h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
    names.map(([name, kind]) => h("th", { scope: "col", role: "columnheader", class: kind }, name))));
}

function changesTable(metrics, several) {
  const extents = new Map();
  for (const metric of metrics) {
    extents.set(metric.score, extentOf(metrics.filter((other) => other.score === metric.score)));
  }
  const row = (metric) => asRow(h("tr", {},
    h("td", { class: "v" }, badge(metric.verdict)),
    metricName(metric, several),
    h("td", { class: "bar-cell" }, changeBar(metric, extents.get(metric.score), BAR)),
    h("td", { class: "n" },
      changeText(metric.change, metric.less, metric.verdict),
      h("small", { class: "muted block" }, intervalOf(metric.change))),
    h("td", { class: "n md" },
      `${num(metric.baseline)} → ${num(metric.value)}`,
      metric.p !== null ? h("small", { class: "muted block" }, pValue(metric.p)) : null),
    h("td", { class: "lg held" },
      metric.bounds.map((bound) => h("span", { class: "block" }, bound)),
      metric.paired.detectable
        ? h("small", { class: "muted block" }, `sees losses from ${brief(metric.paired.detectable)} on`) : null,
      metric.paired.unproven ? h("small", { class: "unproven block" }, "a loss that would matter, not proven") : null)));
  const label = "Change against the baseline";
  return scrolling(label, h("table", { class: "metrics", role: "table" },
    h("caption", { class: "hidden-text" }, label),
    metricsHead([["Verdict", "v"], ["Metric", ""], ["Worse ← → better", "bar-head"], ["Change", "n"], ["Before → now", "n md"], ["Held against", "lg"]]),
    h("tbody", { role: "rowgroup" }, metrics.map(row))));
}

const intervalText = (metric) => {
  if (isNone(metric.low)) {
    return metric.unsure ? "no interval" : "";
  }
  return `${num(metric.low)} to ${num(metric.high)} · ${percent(metric.level)} ${metric.method}`;
};

function valuesTable(metrics, several, label) {
  const row = (metric) => asRow(h("tr", {},
    h("td", { class: "v" }, badge(metric.verdict)),
    metricName(metric, several),
    h("td", { class: "bar-cell" }, boundBar(metric, BAR)),
    h("td", { class: "n" }, num(metric.value)),
    h("td", { class: "n md" }, h("small", { class: "muted" }, intervalText(metric))),
    h("td", { class: "lg held" }, metric.bounds.map((bound) => h("span", { class: "block" }, bound)))));
  return scrolling(label, h("table", { class: "metrics", role: "table" },
    h("caption", { class: "hidden-text" }, label),
    metricsHead([["Verdict", "v"], ["Metric", ""], ["Interval and bound", "bar-head"], ["Value", "n"], ["Interval", "n md"], ["Held against", "lg"]]),
    h("tbody", { role: "rowgroup" }, metrics.map(row))));
}

const changesLegend = () => h("p", { class: "muted" },
  "Paired with the baseline, task by task: the dot is the change, the line its 95 % interval. ",
  "The grey line is 0, and in the red area lies a loss that matters. Metrics of one score share a scale.");

function changesPart(about) {
  const several = about.agents.length > 1;
  const compared = about.metrics.filter((metric) => metric.paired);
  if (!compared.length) {
    return null;
  }
  return section("changes", "Change against the baseline", changesLegend(), changesTable(compared, several));
}

function valuesPart(about) {
  const several = about.agents.length > 1;
  const bounded = about.metrics.filter((metric) => metric.limits.length);
  const others = about.metrics.filter((metric) => !metric.paired && !metric.limits.length);
  if (!bounded.length && !others.length) {
    return null;
  }
  const isShort = others.length <= 6;
  const shown = isShort ? [...bounded, ...others] : bounded;
  return section("metrics", "Values",
    bounded.length ? h("p", { class: "muted" }, "The dot is the value, the line its own interval; values in the red area fail. Each has its own scale.") : null,
    shown.length ? valuesTable(shown, several, "Values") : null,
    isShort ? null : h("details", { class: "more-metrics" },
      h("summary", {}, `${count(others.length)} more, not gated`),
      valuesTable(others, several, "Further metrics")),
    about.more_metrics ? h("p", { class: "note" }, `${count(about.more_metrics)} more metrics are in report.json.`) : null);
}

// -- the tasks of an agent -------------------------------------------------------------------

// Where the change lies: the tasks of each value of a field, the worst first.
function breakdownTable(part, picture) {
  const less = picture.lower.includes(picture.reward);
  const row = (slice) => {
    const change = Number((slice.now - slice.was).toPrecision(6));
    const verdict = slice.worse || slice.better ? "FAIL" : "";
    return h("tr", {},
      h("th", { scope: "row" }, own(slice.value)),
      h("td", { class: "n" }, count(slice.tasks)),
      h("td", { class: "n" }, num(slice.was)),
      h("td", { class: "n" }, num(slice.now)),
      h("td", { class: "n" }, changeText([change], less, verdict)),
      h("td", { class: "n" }, count(slice.worse)),
      h("td", { class: "n" }, count(slice.better)));
  };
  return scrolling(`By ${part.field}`, h("table", { class: "small" },
    h("caption", {}, "By ", h("code", {}, part.field)),
    cells([part.field, "Tasks", "Before", "Now", "Change", "Worse", "Better"]),
    h("tbody", {}, part.values.map(row))));
}

function tallyOf(compared) {
  const numbers = [
    ["down", compared.worse, "worse"],
    ["up", compared.better, "better"],
    ["", compared.same, "unchanged"],
    ["", compared.new, "new"],
    ["", compared.gone, "gone"],
  ];
  const shown = numbers.filter(([, n], k) => k < 3 || n);
  return h("p", { class: "tally" }, shown.map(([kind, n, word]) =>
    h("span", { class: `change ${n ? kind : ""}` }, h("b", {}, count(n)), ` ${word}`)));
}

function distributionsOf(picture) {
  return h("div", { class: "grid" }, picture.distributions.map((distribution) => h("div", { class: "card" },
    h("h3", {}, h("code", {}, distribution.score)),
    histogramChart(distribution),
    distributionTable(distribution))));
}

function agentParts(picture, found, prefix, name, item, flips, talks) {
  const title = (text) => (name ? [`${text} of `, own(name)] : text);
  const { compared } = picture;
  const isQuiet = name && compared && !compared.worse && !compared.better && !compared.new && !compared.gone;
  const inside = [
    compared ? tallyOf(compared) : null,
    picture.parts.map((part) => breakdownTable(part, picture)),
    found
      ? tasksPart(found, picture, prefix, item, flips, talks)
      : h("p", { class: "note" }, "Tasks are omitted to keep this page small; report.json has them."),
  ];
  const heading = compared && !isQuiet ? "Which tasks flipped" : "Tasks";
  const parts = [section(`${prefix}-tasks`, name ? title("Tasks") : heading,
    isQuiet ? h("details", {}, h("summary", {}, "Nothing changed"), inside) : inside)];
  if (picture.distributions.length) {
    parts.push(section(`${prefix}-dist`, title("Distributions"),
      h("p", { class: "muted" }, "Share of rollouts in per cent, before and now."),
      name && isQuiet
        ? h("details", {}, h("summary", {}, plural(picture.distributions.length, "score")), distributionsOf(picture))
        : distributionsOf(picture)));
  }
  return parts;
}

// -- errors, judges, history, sources ----------------------------------------------------------

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

// What the tasks that got worse have in common, and the others have not.
function separatorsPart(about) {
  const found = about.agents.flatMap(({ agent }) => {
    const picture = Object.hasOwn(about.pictures, agent) ? about.pictures[agent] : null;
    const own = picture ? picture.separators || [] : [];
    return own.map((separator) => ({ ...separator, agent }));
  });
  if (!found.length) {
    return null;
  }
  const several = about.agents.length > 1;
  const row = (one) => h("tr", {},
    h("th", { scope: "row" }, h("code", {}, one.field), " ", own(one.value),
      several ? h("small", { class: "where" }, own(one.agent)) : null),
    h("td", { class: "n" }, `${count(one.worse_with)} of ${count(one.tasks_with)}`),
    h("td", { class: "n" }, `${count(one.worse_without)} of ${count(one.tasks_without)}`),
    h("td", { class: "n" }, `${brief(one.odds)} : 1`),
    h("td", { class: "n md" }, pValue(one.p)));
  return section("separators", "What the worse tasks have in common",
    h("p", { class: "muted" }, `Of ${plural(found[0].fields, "field")} with ${plural(found[0].values, "value")} that were looked at, these separate worse tasks from the others best. p allows for having looked at all of them; it explains nothing by itself.`),
    scrolling("What the worse tasks have in common", h("table", { class: "small" },
      h("caption", { class: "hidden-text" }, "What the worse tasks have in common"),
      h("thead", {}, h("tr", {},
        [["Field and value", ""], ["Worse with it", "n"], ["Worse without it", "n"], ["Odds", "n"], ["p", "n md"]]
          .map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))),
      h("tbody", {}, found.map(row)))));
}

function agentsParts(item, about, at) {
  const found = data(`tasks-${at}`) || {};
  const talks = data(`talks-${at}`) || {};
  const several = about.agents.length > 1;
  return about.agents.map(({ agent }, k) => {
    if (!Object.hasOwn(about.pictures, agent)) {
      return [];
    }
    const columns = Object.hasOwn(found, agent) ? found[agent] : null;
    const turns = Object.hasOwn(talks, agent) ? talks[agent] : null;
    const flips = about.flips.filter((flip) => flip.agent === agent);
    return agentParts(about.pictures[agent], columns, `a${k}`, several ? agent : "", item, flips, turns);
  });
}

function benchmarkParts(item, about, at) {
  if (!about) {
    return [h("p", { class: "note" }, "This benchmark passes. Its details are omitted to keep this page small; report.json has them.")];
  }
  const agents = agentsParts(item, about, at);
  const isDistribution = (part) => part.getAttribute("aria-labelledby").endsWith("-dist");
  const tasks = agents.flat().filter((part) => !isDistribution(part));
  const distributions = agents.flat().filter(isDistribution);
  const parts = [
    changesPart(about),
    reasonsPart(about),
    separatorsPart(about),
    tasks,
    valuesPart(about),
    errorsPart(about),
    historyPart(about),
    distributions,
    judgesPart(about),
    originPart(item, about),
  ];
  return [
    about.description ? h("p", { class: "description" }, about.description) : null,
    contents(parts),
    parts,
    about.short ? h("p", { class: "note" }, "This page is shortened because many benchmarks fail; report.json has the rest.") : null,
  ];
}

function benchmarkPage(rows, at, alone) {
  const item = rows[at];
  const about = data(`about-${at}`);
  const step = (to, text) => (rows[to] ? h("a", { href: target(rows[to]) }, text) : null);
  const steps = h("nav", { class: "steps", "aria-label": "Benchmarks" },
    h("a", { href: "#/" }, "← All benchmarks"),
    h("span", {}, step(at - 1, "Previous"), step(at + 1, "Next")));
  return [alone ? null : steps, benchmarkHead(item, about), benchmarkParts(item, about, at)];
}
