// One benchmark: its verdict, the tested change, its tasks, why, its values, its origin.

// -- the head --------------------------------------------------------------------------------

// How likely the change is by chance, for who has never read a p value.
function chanceText(metric) {
  if (metric.verdict === "FAIL" || metric.verdict === "ADVISORY") {
    return `unlikely to be noise (${pValue(metric.p)})`;
  }
  if (metric.paired.unproven) {
    return `a loss that would matter, but may be noise (${pValue(metric.p)})`;
  }
  return pValue(metric.p);
}

function changeSentence(about, metric) {
  const { paired } = metric;
  const tasks = plural(paired.tasks, "task");
  const parts = [`${count(paired.worse)} of ${tasks} worse, ${count(paired.better)} better`];
  if (metric.p !== null) {
    parts.push(chanceText(metric));
  }
  if (metric.verdict === "PASS" && paired.detectable) {
    parts.push(`sees losses from ${lossSize(paired.detectable)} on`);
  }
  const whose = about.agents.length > 1 ? [own(metric.agent), " "] : null;
  const change = `${num(metric.baseline)} → ${num(metric.value)}`;
  return h("p", { class: "lead" },
    whose,
    h("b", {}, metricCode(metric.name), ` ${change}`),
    `: ${parts.join("; ")}.`);
}

function leadOf(about) {
  const { lead } = about;
  const isLead = (metric) => metric.agent === lead.agent && metric.name === lead.metric;
  const metric = lead.metric ? about.metrics.find(isLead) : null;
  if (metric) {
    return changeSentence(about, metric);
  }
  return lead.why ? h("p", { class: "lead" }, own(lead.why)) : null;
}

// The surest thing that the worse tasks have in common, in one sentence.
function commonLine(about) {
  const [first] = about.separators;
  if (!first) {
    return null;
  }
  return h("p", {},
    "What the worse tasks have in common: ",
    h("code", {}, first.field), " ", own(first.value),
    ` (${count(first.worse_with)} of ${plural(first.tasks_with, "task")} worse; `,
    `others ${count(first.worse_without)} of ${count(first.tasks_without)}).`);
}

function commandLine(name, command) {
  return h("p", {}, h("span", { class: "muted" }, `${name} `), h("code", {}, command));
}

function commandsOf(about) {
  const { fix } = about.lead;
  return h("div", { class: "commands" },
    fix ? h("p", {}, h("span", { class: "muted" }, "What to do: "), sentence(fix)) : null,
    about.again ? commandLine("Run again:", about.again) : null,
    about.accept ? commandLine("Accept the change:", about.accept) : null);
}

function warningsOf(item) {
  const drift = item.drift.map((text) => h("p", { class: "warning" }, h("b", {}, "Drift: "), text));
  const stale = item.stale ? h("p", { class: "warning" }, h("b", {}, "Old baseline: "), item.stale) : null;
  return [drift, stale];
}

function benchmarkHead(item, about) {
  const [, kind] = WORDS[item.verdict];
  const name = h("bdi", { dir: "auto", class: "clamp", title: item.name }, item.name);
  return h("div", { class: `verdict ${kind} one` },
    h("h1", { tabindex: "-1" }, name, " ", badge(item.verdict, true)),
    h("p", { class: "place clamp", title: item.id }, own(item.id)),
    item.xfail ? h("p", { class: "muted" }, "Expected to fail (xfail): it does not count.") : null,
    item.verdict === "ADVISORY" ? h("p", { class: "muted" }, "Advisory: it is shown, and fails nothing.") : null,
    about ? leadOf(about) : null,
    about ? commonLine(about) : null,
    warningsOf(item),
    about ? commandsOf(about) : null);
}

// -- the changes and the values --------------------------------------------------------------

const BAR = 420; // units of a drawing's width

const CHANGE_COLUMNS = [
  ["Verdict", "v"],
  ["Metric", ""],
  ["Worse ← → better", "bar-head"],
  ["Change", "n"],
  ["Before → now", "n md"],
  ["Held against", "lg"],
];

const VALUE_COLUMNS = [
  ["Verdict", "v"],
  ["Metric", ""],
  ["Interval and bound", "bar-head"],
  ["Value", "n"],
  ["Interval", "n md"],
  ["Held against", "lg"],
];

function metricName(metric, several) {
  return h("th", { scope: "row", role: "rowheader" },
    metricCode(metric.name),
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

function metricsTable(label, columns, rowsOfMetrics) {
  const head = columns.map(([name, kind]) =>
    h("th", { scope: "col", role: "columnheader", class: kind }, name));
  return scrolling(label, h("table", { class: "metrics", role: "table" },
    h("caption", { class: "hidden-text" }, label),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)),
    h("tbody", { role: "rowgroup" }, rowsOfMetrics)));
}

function heldAgainst(metric) {
  const lines = metric.bounds.map((bound) => h("span", { class: "block" }, bound));
  const { paired } = metric;
  if (paired && paired.detectable) {
    const seen = `sees losses from ${lossSize(paired.detectable)} on`;
    lines.push(h("small", { class: "muted block" }, seen));
  }
  if (paired && paired.unknown_noise) {
    lines.push(h("small", { class: "muted block" }, "one run: noise between runs unknown"));
  }
  if (paired && paired.unproven) {
    lines.push(h("small", { class: "unproven block" }, "a loss that would matter, not proven"));
  }
  return h("td", { class: "lg held" }, lines);
}

function changeRow(metric, extent, several) {
  const p = metric.p === null ? null : h("small", { class: "muted block" }, pValue(metric.p));
  return asRow(h("tr", {},
    h("td", { class: "v" }, badge(metric.verdict)),
    metricName(metric, several),
    h("td", { class: "bar-cell" }, changeBar(metric, extent, BAR)),
    h("td", { class: "n" },
      changeText(metric.change, metric.less, metric.verdict),
      h("small", { class: "muted block" }, intervalOf(metric.change))),
    h("td", { class: "n md" }, `${num(metric.baseline)} → ${num(metric.value)}`, p),
    heldAgainst(metric)));
}

function changesTable(metrics, several, label = "Change against the baseline") {
  const extents = new Map();
  for (const { score } of metrics) {
    extents.set(score, extentOf(metrics.filter((other) => other.score === score)));
  }
  const drawn = metrics.map((metric) => changeRow(metric, extents.get(metric.score), several));
  return metricsTable(label, CHANGE_COLUMNS, drawn);
}

// How a change was tested: its reason, the tasks that it rests on, and its power.
function testedDetails(about, compared) {
  const names = new Set(compared.map((metric) => metric.name));
  const tested = about.checks.filter((check) => check.gate === "baseline" && names.has(check.name));
  const telling = tested.filter((check) => check.details.length);
  if (!telling.length) {
    return null;
  }
  const entry = (check) => h("li", {},
    h("code", {}, check.name),
    check.agent ? [" of ", own(check.agent)] : null,
    check.reason ? [": ", own(check.reason)] : null,
    h("ul", {}, check.details.map((line) => h("li", {}, own(line)))));
  return h("details", {}, h("summary", {}, "How it was tested"), h("ul", {}, telling.map(entry)));
}

const CHANGES_LEGEND = "Paired, task by task: the dot is the change, the line its 95 % interval, "
  + "the grey line 0; a change in the red area matters. Metrics of one score share a scale.";

const FEW_CHANGES = 6; // which need no fold

// What fails first, by agent as they come; of many that pass the rest is folded.
function changesPart(about) {
  const several = about.agents.length > 1;
  const turns = about.agents.map(({ agent }) => agent);
  const compared = about.metrics.filter((metric) => metric.paired);
  if (!compared.length) {
    return null;
  }
  const turn = (metric) => VERDICTS.indexOf(metric.verdict) * turns.length + turns.indexOf(metric.agent);
  compared.sort((a, b) => turn(a) - turn(b));
  const unmet = compared.filter((metric) => metric.verdict !== "PASS");
  const isFolded = unmet.length > 0 && compared.length > FEW_CHANGES;
  const others = compared.filter((metric) => metric.verdict === "PASS");
  return section("changes", "Change against the baseline",
    h("p", { class: "muted legend" }, CHANGES_LEGEND),
    changesTable(isFolded ? unmet : compared, several),
    isFolded
      ? h("details", {}, h("summary", {}, `${count(others.length)} more that pass`),
        changesTable(others, several, "Changes that pass"))
      : null,
    testedDetails(about, compared));
}

function intervalText(metric) {
  if (isNone(metric.low)) {
    return metric.unsure ? "no interval" : "";
  }
  return `${num(metric.low)} to ${num(metric.high)} · ${percent(metric.level)} ${metric.method}`;
}

function valuesTable(metrics, several, label) {
  const row = (metric) => asRow(h("tr", {},
    h("td", { class: "v" }, badge(metric.verdict)),
    metricName(metric, several),
    h("td", { class: "bar-cell" }, boundBar(metric, BAR)),
    h("td", { class: "n" }, num(metric.value)),
    h("td", { class: "n md" }, h("small", { class: "muted" }, intervalText(metric))),
    h("td", { class: "lg held" }, metric.bounds.map((bound) => h("span", { class: "block" }, bound)))));
  return metricsTable(label, VALUE_COLUMNS, metrics.map(row));
}

const FEW_VALUES = 6; // without a gate, which need no fold
const VALUES_LEGEND = "The dot is the value, the line its own interval; values in the red area fail. "
  + "Each has its own scale.";

function valuesPart(about) {
  const several = about.agents.length > 1;
  const bounded = about.metrics.filter((metric) => metric.limits.length);
  const others = about.metrics.filter((metric) => !metric.paired && !metric.limits.length);
  if (!bounded.length && !others.length) {
    return null;
  }
  const isShort = others.length <= FEW_VALUES;
  const shown = isShort ? [...bounded, ...others] : bounded;
  const folded = h("details", { class: "more-metrics" },
    h("summary", {}, `${count(others.length)} more, not gated`),
    valuesTable(others, several, "Further metrics"));
  const left = `${count(about.more_metrics)} more metrics are in report.json.`;
  return section("metrics", "Values",
    bounded.length ? h("p", { class: "muted legend" }, VALUES_LEGEND) : null,
    shown.length ? valuesTable(shown, several, "Values") : null,
    isShort ? null : folded,
    about.more_metrics ? h("p", { class: "note" }, left) : null);
}

// -- why, where no number above says it --------------------------------------------------------

// Checks of several agents that fail for the same reason, together.
function alikeChecks(checks) {
  const groups = new Map();
  for (const check of checks) {
    const key = JSON.stringify([check.gate, check.name, check.verdict, check.reason]);
    const group = groups.get(key) || { check, agents: [] };
    if (check.agent) {
      group.agents.push(check.agent);
    }
    groups.set(key, group);
  }
  return [...groups.values()];
}

function reasonEntry({ check, agents }, isLastHint) {
  const [, kind] = WORDS[check.verdict];
  const names = agents.map((agent, k) => [k ? ", " : "", own(agent)]);
  return h("li", { class: kind },
    h("p", { class: "what" },
      badge(check.verdict),
      check.gate === "data" ? null : h("code", {}, check.name),
      agents.length ? h("span", {}, "of ", names) : null),
    h("p", {}, own(check.reason)),
    check.hint && isLastHint ? h("p", { class: "hint" }, sentence(check.hint)) : null);
}

function reasonsPart(about) {
  const drawn = new Set(about.metrics
    .filter((metric) => metric.paired && metric.change)
    .map((metric) => metric.name));
  const isSaid = (check) => check.gate === "baseline" && drawn.has(check.name)
    && check.verdict !== "INCONCLUSIVE";
  const telling = about.checks.filter((check) =>
    check.verdict !== "PASS" && check.reason && !isSaid(check));
  const groups = alikeChecks(telling);
  if (!groups.length) {
    return null;
  }
  const entries = groups.map((group, k) => {
    const next = groups[k + 1];
    return reasonEntry(group, !next || next.check.hint !== group.check.hint);
  });
  return section("why", "Why", h("ul", { class: "reasons" }, entries));
}

// -- the tasks of an agent -------------------------------------------------------------------

function headOf(names) {
  const cells = names.map((name, k) => h("th", { scope: "col", class: k ? "n" : "" }, name));
  return h("thead", {}, h("tr", {}, cells));
}

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
    headOf([part.field, "Tasks", "Before", "Now", "Change", "Worse", "Better"]),
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
  const ALWAYS = 3; // numbers that are told where they are 0
  const shown = numbers.filter(([, tasks], k) => k < ALWAYS || tasks);
  return h("p", { class: "tally" }, shown.map(([kind, tasks, word]) =>
    h("span", { class: `change ${tasks ? kind : ""}` }, h("b", {}, count(tasks)), ` ${word}`)));
}

function distributionsOf(picture) {
  const card = (distribution) => h("div", { class: "card" },
    h("h3", {}, h("code", {}, distribution.score)),
    histogramChart(distribution),
    distributionTable(distribution));
  return h("div", { class: "grid" }, picture.distributions.map(card));
}

function isUnchanged(compared) {
  return compared && !compared.worse && !compared.better && !compared.new && !compared.gone;
}

const NO_TASKS = "Tasks are omitted to keep this page small; report.json has them.";

function tasksSection(agent) {
  const { picture, found, prefix, name } = agent;
  const { compared } = picture;
  const isQuiet = name && isUnchanged(compared);
  const inside = [
    compared ? tallyOf(compared) : null,
    found
      ? tasksPart(found, picture, prefix, agent.item, agent.flips, agent.talks)
      : h("p", { class: "note" }, NO_TASKS),
    picture.parts.map((part) => breakdownTable(part, picture)),
  ];
  const flipped = compared && !isUnchanged(compared);
  const alone = flipped ? "Which tasks flipped" : "Tasks";
  const title = name ? ["Tasks of ", own(name)] : alone;
  return section(`${prefix}-tasks`, title,
    isQuiet ? h("details", {}, h("summary", {}, "Nothing changed"), inside) : inside);
}

function distributionsSection(agent) {
  const { picture, prefix, name } = agent;
  if (!picture.distributions.length) {
    return null;
  }
  const isQuiet = name && isUnchanged(picture.compared);
  const drawn = distributionsOf(picture);
  const scores = plural(picture.distributions.length, "score");
  return section(`${prefix}-dist`, name ? ["Distributions of ", own(name)] : "Distributions",
    h("p", { class: "muted" }, "Share of rollouts in per cent, before and now."),
    isQuiet ? h("details", {}, h("summary", {}, scores), drawn) : drawn);
}

// -- errors ------------------------------------------------------------------------------------

function failedRow(row) {
  return h("li", { class: "error" },
    h("p", {}, h("code", { class: "place" }, row.row)),
    h("p", { class: "pre" }, row.reason),
    row.hint ? h("p", { class: "hint" }, sentence(row.hint)) : null);
}

function failureKind(kind, isOnly) {
  const more = kind.count - kind.rows.length;
  return h("details", { open: isOnly },
    h("summary", {}, h("code", {}, kind.kind), ` ${plural(kind.count, "row")}`),
    h("ul", { class: "messages" }, kind.rows.map(failedRow)),
    more > 0 ? h("p", { class: "muted" }, `${count(more)} more in row_scores.jsonl`) : null);
}

function errorsPart(about) {
  if (!about.failures.length) {
    return null;
  }
  const entry = (failure) => h("div", { class: "errors" },
    h("p", {},
      h("b", {}, failure.scorer),
      ` could not score ${plural(failure.count, "row")}: `,
      h("code", {}, failure.scores.join(", "))),
    failure.kinds.map((kind) => failureKind(kind, failure.kinds.length === 1)));
  return section("errors", "Errors", about.failures.map(entry));
}

// -- judges --------------------------------------------------------------------------------------

function smallTable(label, names, lines, caption) {
  return scrolling(label, h("table", { class: "small" },
    h("caption", { class: caption ? "" : "hidden-text" }, caption || label),
    headOf(names),
    h("tbody", {}, lines)));
}

function judgeCalls(judges) {
  const line = (judge) => h("tr", {},
    h("th", { scope: "row" }, judge.model, h("small", { class: "where" }, judge.scorer)),
    h("td", { class: "n" }, h("code", {}, judge.scores.join(", "))),
    h("td", { class: "n" }, count(judge.calls)),
    h("td", { class: "n" }, count(judge.total_tokens)),
    h("td", { class: "n" }, num(judge.cost)),
    h("td", { class: "n" }, `${brief(judge.latency_s.p95)} s`));
  const names = ["Model", "Scores", "Answers", "Tokens", "Cost", "95th percentile"];
  return smallTable("Calls of judges", names, judges.map(line), "Calls");
}

function judgeLabels(checks) {
  const line = (check) => {
    const numbers = [
      count(check.rows),
      count(check.failed),
      num(check.accuracy),
      num(check.kappa),
      num(check.quadratic_kappa),
    ];
    return h("tr", {},
      h("th", { scope: "row" },
        h("code", {}, check.score),
        check.reason ? h("small", { class: "where" }, check.reason) : null),
      numbers.map((text) => h("td", { class: "n" }, text)));
  };
  const label = "Agreement with people's labels";
  const names = ["Score", "Rows", "Not scored", "Accuracy", "Kappa", "Weighted kappa"];
  return smallTable(label, names, checks.map(line), label);
}

function disagreements(check) {
  const entry = (row) => h("li", {},
    h("code", { class: "place" }, row.row),
    `: ${num(row.judge)} by the judge, ${num(row.label)} by a person`);
  return h("details", {},
    h("summary", {}, `Rows where ${check.score} differs from people's labels`),
    h("ul", {}, check.first.map(entry)));
}

function agreementText(agreement) {
  const judges = `${count(agreement.judges)} judges`;
  if (agreement.alpha === null) {
    return `: the agreement of ${judges} is undefined: ${agreement.reason}`;
  }
  const rowsJudged = plural(agreement.rows, "row");
  return `: ${judges}, Krippendorff's alpha ${num(agreement.alpha)} over ${rowsJudged}`;
}

function judgesPart(about) {
  const { judges, judge_checks: checks, agreements } = about;
  if (!judges.length && !checks.length && !agreements.length) {
    return null;
  }
  const agreement = (one) => h("li", {}, h("code", {}, one.score), agreementText(one));
  return section("judges", "Judges",
    judges.length ? judgeCalls(judges) : null,
    checks.length ? judgeLabels(checks) : null,
    checks.filter((check) => check.first.length).map(disagreements),
    agreements.length ? h("ul", {}, agreements.map(agreement)) : null);
}

// -- history -------------------------------------------------------------------------------------

const COMMIT = 10; // letters of a commit

function commitOf(shown) {
  const text = h("code", {}, (shown.commit || "").slice(0, COMMIT) || "–");
  if (!/^https?:/.test(shown.url || "")) {
    return text;
  }
  const name = h("code", {}, (shown.commit || "run").slice(0, COMMIT));
  return h("a", { href: shown.url, rel: "noreferrer" }, name);
}

function historyRow(shown, lines, at) {
  const accepted = shown.reason
    ? h("span", { class: "block muted" }, `accepted: ${shown.reason}`)
    : null;
  return h("tr", {},
    h("th", { scope: "row" }, shown.time, accepted),
    h("td", { class: "n" }, commitOf(shown)),
    h("td", { class: "n" }, badge(shown.verdict)),
    lines.map((line) => h("td", { class: "n" }, num(line.values[at]))));
}

// The drifts stand in the head.
function historyPart(about) {
  const { runs, lines } = about.history;
  if (!lines) {
    return null;
  }
  const name = (line) => (line.agent ? `${line.agent}: ` : "") + line.metric;
  const card = (line) => h("div", { class: "card" },
    h("h3", {}, h("code", {}, name(line))),
    lineChart(line, runs));
  const names = ["Time", "Commit", "Verdict", ...lines.map(name)];
  const table = smallTable("The last runs", names, runs.map((shown, at) => historyRow(shown, lines, at)));
  return section("history", "History",
    h("div", { class: "grid" }, lines.map(card)),
    h("details", {}, h("summary", {}, `The last ${plural(runs.length, "run")}`), table));
}

// -- sources -------------------------------------------------------------------------------------

function agentLine(agent) {
  const missing = agent.missing ? `, ${count(agent.missing)} missing` : "";
  const size = `${plural(agent.tasks, "task")}, ${plural(agent.rollouts, "rollout")}`;
  return h("span", { class: "block" }, h("b", {}, agent.agent), `: ${size}${missing}`);
}

function filesTable(about) {
  const line = (file) => h("tr", {},
    h("th", { scope: "row" }, h("code", { class: "place" }, file.path)),
    h("td", { class: "n" }, count(file.rows)),
    h("td", { class: "n" }, bytes(file.size)));
  return smallTable("Files", ["File", "Rows", "Size"], about.sources.map(line), "Files read");
}

function allChecks(about) {
  const line = (check) => h("tr", {},
    h("td", {}, badge(check.verdict)),
    h("td", {}, check.gate),
    h("th", { scope: "row" }, h("code", {}, (check.agent ? `${check.agent}: ` : "") + check.name)),
    h("td", { class: "n" }, num(check.value)),
    h("td", {}, check.bound),
    h("td", { class: "n" }, check.line));
  const names = [["Verdict", ""], ["Gate", ""], ["What", ""], ["Found", "n"], ["Expected", ""], ["Line", "n"]];
  const head = names.map(([name, kind]) => h("th", { scope: "col", class: kind }, name));
  const table = h("table", { class: "small" },
    h("caption", { class: "hidden-text" }, "Checks"),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, about.checks.map(line)));
  return h("details", {},
    h("summary", {}, `All checks (${count(about.checks.length)})`),
    scrolling("Checks", table));
}

function described(name, texts) {
  return texts.length ? [h("dt", {}, name), h("dd", {}, texts)] : null;
}

function originPart(item, about) {
  const pictures = Object.values(about.pictures);
  const against = [...new Set(pictures.map((picture) => picture.against).filter(Boolean))];
  const agents = about.agents.length ? about.agents.map(agentLine) : ["none"];
  const more = about.more_sources;
  // runs that are compared have no file
  const place = item.file ? [h("code", { class: "place" }, `${item.file}:${about.line}`)] : [];
  return section("origin", "Sources",
    h("dl", {},
      described("Benchmark", place),
      described("Agents", agents),
      described("Compared with", against.map((text) => h("span", { class: "block place" }, text))),
      described("Recorded", about.recorded.map((line) => h("span", { class: "block" }, line)))),
    about.sources.length ? filesTable(about) : null,
    more ? h("p", { class: "muted" }, `and ${count(more)} more files`) : null,
    about.notes.length ? h("h3", {}, "Notes") : null,
    about.notes.length ? h("ul", {}, about.notes.map((note) => h("li", {}, note))) : null,
    allChecks(about));
}

// -- what worse tasks have in common -------------------------------------------------------------

function separatorRow(one, several) {
  return h("tr", {},
    h("th", { scope: "row" },
      h("code", {}, one.field), " ", own(one.value),
      several ? h("small", { class: "where" }, own(one.agent)) : null),
    h("td", { class: "n" }, `${count(one.worse_with)} of ${count(one.tasks_with)}`),
    h("td", { class: "n" }, `${count(one.worse_without)} of ${count(one.tasks_without)}`),
    h("td", { class: "n md" }, `${brief(one.odds)} : 1`),
    h("td", { class: "n md" }, pValue(one.p)));
}

function separatorsPart(about) {
  const found = about.separators;
  if (!found.length) {
    return null;
  }
  const several = about.agents.length > 1;
  const [{ fields, values }] = found;
  const names = [
    ["Field and value", ""],
    ["Worse with it", "n"],
    ["Worse without it", "n"],
    ["Odds", "n md"],
    ["p", "n md"],
  ];
  const head = names.map(([name, kind]) => h("th", { scope: "col", class: kind }, name));
  const title = "What the worse tasks have in common";
  const table = h("table", { class: "small" },
    h("caption", { class: "hidden-text" }, title),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, found.map((one) => separatorRow(one, several))));
  return section("separators", title,
    h("p", { class: "muted" },
      `Of ${plural(fields, "field")} with ${plural(values, "value")} that were looked at, `,
      "these separate worse tasks from the others best. ",
      "p allows for having looked at all of them; it explains nothing by itself."),
    scrolling(title, table));
}

// -- the page --------------------------------------------------------------------------------------

// The agents that have a picture of their tasks, each with what is shown of it.
function agentsShown(item, about, at) {
  const tasks = data(`tasks-${at}`) || {};
  const talks = data(`talks-${at}`) || {};
  const several = about.agents.length > 1;
  const shown = about.agents.map(({ agent }, k) => ({
    item,
    prefix: `a${k}`,
    name: several ? agent : "",
    picture: Object.hasOwn(about.pictures, agent) ? about.pictures[agent] : null,
    found: Object.hasOwn(tasks, agent) ? tasks[agent] : null,
    talks: Object.hasOwn(talks, agent) ? talks[agent] : null,
    flips: about.flips.filter((flip) => flip.agent === agent),
  }));
  return shown.filter((agent) => agent.picture);
}

const NO_DETAILS = "This benchmark passes. Its details are omitted to keep this page small; "
  + "report.json has them.";
const SHORTENED = "This page is shortened because many benchmarks fail; report.json has the rest.";

function benchmarkParts(item, about, at) {
  if (!about) {
    return [h("p", { class: "note" }, NO_DETAILS)];
  }
  const agents = agentsShown(item, about, at);
  // a reason that is no number stands before the numbers
  const isNumber = Boolean(about.lead.metric);
  const why = reasonsPart(about);
  const parts = [
    isNumber ? null : why,
    changesPart(about),
    agents.map(tasksSection),
    isNumber ? why : null,
    separatorsPart(about),
    valuesPart(about),
    errorsPart(about),
    historyPart(about),
    agents.map(distributionsSection),
    judgesPart(about),
    originPart(item, about),
  ];
  return [
    about.description ? h("p", { class: "description" }, about.description) : null,
    contents(parts),
    parts,
    about.short ? h("p", { class: "note" }, SHORTENED) : null,
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
