// Which page is shown: the run, or the benchmark (and its task) that the address names.

const run = data("run");
const rows = data("overview");
const main = document.getElementById("main");

// The benchmark that the address names, and its task; null for a place within the page.
function addressed() {
  const { hash } = location;
  if (hash && !hash.startsWith("#/")) {
    return null;
  }
  try {
    const [wanted, ...task] = hash.slice(2).split("/").map(decodeURIComponent);
    return { wanted, task };
  } catch {
    return { wanted: "", task: [] }; // it names nothing
  }
}

function put(place, parts) {
  place.replaceChildren(...h("div", {}, parts).childNodes);
}

// -- where a reader was, for the way back ------------------------------------------------------

function remember() {
  const search = document.getElementById("find-benchmark");
  const verdict = document.getElementById("find-verdict");
  const state = {
    scroll: scrollY,
    search: search ? search.value : "",
    verdict: verdict ? verdict.value : "",
  };
  history.replaceState(state, "");
}

function restore(state) {
  const search = document.getElementById("find-benchmark");
  const verdict = document.getElementById("find-verdict");
  if (search && state.search) {
    search.value = state.search;
    search.dispatchEvent(new Event("input"));
  }
  if (verdict && state.verdict) {
    verdict.value = state.verdict;
    verdict.dispatchEvent(new Event("change"));
  }
  scrollTo(0, state.scroll);
}

function settle(moved) {
  if (!moved) {
    return;
  }
  if (history.state) {
    restore(history.state);
    return;
  }
  scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

// -- the pages -----------------------------------------------------------------------------------

function showOther(site, noise, wanted) {
  const [parts, name] = site ? showSite(site, wanted) : showNoise(noise);
  put(main, parts);
  document.title = name;
}

function showRun({ wanted, task }) {
  const at = rows.findIndex((row) => row.id === wanted);
  const alone = rows.length === 1 && !run.lost && !run.skips && !run.left_out.rows;
  const one = alone ? 0 : at;
  const isBenchmark = one >= 0;
  put(main, isBenchmark ? benchmarkPage(rows, one, alone) : overviewPage(run, rows));
  put(document.getElementById("run-origin"), originLine(run.origin));
  const name = isBenchmark ? rows[one].name : "Benchmarks";
  const verdict = isBenchmark ? rows[one].verdict : run.verdict;
  document.title = `${WORDS[verdict][2]}: ${name}`;
  return isBenchmark && task.length ? task : null;
}

function show(moved) {
  const address = addressed();
  if (!address) {
    return;
  }
  dropCharts();
  const site = data("site");
  const noise = data("noise");
  if (site || noise) {
    showOther(site, noise, address.wanted);
    settle(moved);
    return;
  }
  const task = showRun(address);
  settle(moved);
  if (task) {
    openTask(...task);
  }
}

// Paper shows what is folded, but for long texts and further rows of tables.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) {
    details.open = !details.closest(".turns, .no-print");
  }
});

history.scrollRestoration = "manual";
startTheme();
addEventListener("hashchange", () => show(true));
addEventListener("click", (event) => {
  if (event.target.closest('a[href^="#/"]')) {
    remember();
  }
}, true);
show(false);
