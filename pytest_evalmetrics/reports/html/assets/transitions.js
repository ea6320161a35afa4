// How many tasks went from which result to which, as a table that filters the list.

const MOST_LEVELS = 6; // results of a side
const NEAR = 1e-9;

// The results of tasks: each value where there are few, else ranges.
function levelsOf(pairs) {
  const values = [...new Set(pairs.flatMap((pair) => [pair[0], pair[1]]))].sort((a, b) => a - b);
  if (values.length <= MOST_LEVELS) {
    return values.map((value) => ({ low: value - NEAR, high: value + NEAR, value }));
  }
  const [lowest, highest] = [values[0], values[values.length - 1]];
  const step = (highest - lowest) / 5;
  return [0, 1, 2, 3, 4].map((k) => {
    const range = [lowest + k * step, k === 4 ? highest : lowest + (k + 1) * step];
    return {
      low: k ? range[0] : range[0] - NEAR,
      high: k === 4 ? range[1] + NEAR : range[1],
      value: null,
      range,
    };
  });
}

const levelAt = (levels, value) =>
  levels.findIndex((level, k) => value >= level.low
    && (value < level.high || (k === levels.length - 1 && value <= level.high)));

// 2/2 where all tasks have so many attempts that pass or fail, else the mean.
function levelName(level, attempts) {
  if (level.value === null) {
    return level.range.map(brief).join("–");
  }
  return attempts ? `${Math.round(level.value * attempts)}/${attempts}` : short(level.value);
}

// The number of attempts of each task, if it is one number and each attempt passes or fails.
function attemptsOfEach(rewards) {
  const lists = rewards.filter(Boolean);
  const first = lists.length ? lists[0].length : 0;
  const isPlain = lists.every((list) => list.length === first && list.every((value) => value === 0 || value === 1));
  return isPlain && first > 0 && first <= MOST_LEVELS - 1 ? first : 0;
}

// `choose` gets the levels of both sides that the list shall show, or null for all.
function transitionTable(pairs, names, less, choose) {
  const levels = levelsOf(pairs);
  const best = levels.map((_, k) => k).sort((a, b) => (less ? a - b : b - a));
  const worst = [...best].reverse();
  const counts = levels.map(() => levels.map(() => 0));
  for (const [before, now, tasks] of pairs) {
    counts[levelAt(levels, before)][levelAt(levels, now)] += tasks;
  }
  const buttons = [];
  let chosen = null;
  const press = (button, from, to) => {
    const isOn = chosen === button;
    buttons.forEach((other) => other.setAttribute("aria-pressed", "false"));
    chosen = isOn ? null : button;
    button.setAttribute("aria-pressed", String(!isOn));
    choose(isOn ? null : { before: levels[from], now: levels[to] });
  };
  const cell = (from, to) => {
    const tasks = counts[from][to];
    const moved = best.indexOf(to) < best.indexOf(from) ? "better" : "worse";
    const kind = from === to ? "same" : moved;
    if (!tasks) {
      return h("td", { class: "n" }, h("span", { class: "muted" }, "0"));
    }
    const label = `${names[0](levels[from])} before, ${names[1](levels[to])} now: ${plural(tasks, "task")}`;
    const button = h("button", {
      type: "button", class: `cell ${kind}`, "aria-pressed": "false", "aria-label": label, title: label,
    }, count(tasks));
    button.addEventListener("click", () => press(button, from, to));
    buttons.push(button);
    return h("td", { class: "n" }, button);
  };
  const table = h("table", { class: "transitions small" },
    h("caption", {}, "Tasks: before ↓ now →"),
    h("thead", {}, h("tr", {}, h("td"),
      worst.map((to) => h("th", { scope: "col", class: "n" }, names[1](levels[to]))))),
    h("tbody", {}, best.map((from) => h("tr", {},
      h("th", { scope: "row" }, names[0](levels[from])),
      worst.map((to) => cell(from, to))))));
  return scrolling("Tasks by their results before and now", table);
}
