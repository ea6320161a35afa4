// Which page is shown: the run, or the benchmark (and its task) that the address names.

const run = data("run");
const rows = data("overview");
const main = document.getElementById("main");

function show(moved) {
  const { hash } = location;
  if (hash && !hash.startsWith("#/")) return; // a place within the page
  let [wanted, ...task] = [""];
  try {
    [wanted, ...task] = hash.slice(2).split("/").map(decodeURIComponent);
  } catch { /* then it names nothing */ }
  dropCharts();
  const [site, noise] = [data("site"), data("noise")];
  if (site || noise) {
    const [parts, name] = site ? showSite(site, wanted) : showNoise(noise);
    main.replaceChildren(...h("div", {}, parts).childNodes);
    document.title = name;
    if (moved) scrollTo(0, 0);
    return;
  }
  const at = rows.findIndex((r) => r.id === wanted);
  const alone = rows.length === 1 && !run.lost && !run.skips && !run.left_out.rows;
  const one = alone ? 0 : at;
  const parts = one >= 0 ? benchmarkPage(rows, one, alone) : overviewPage(run, rows);
  main.replaceChildren(...h("div", {}, parts).childNodes);
  document.getElementById("run-origin").replaceChildren(...h("div", {}, originLine(run.origin)).childNodes);
  const [name, verdict] = one >= 0 ? [rows[one].name, rows[one].verdict] : ["Benchmarks", run.verdict];
  document.title = `${WORDS[verdict][2]}: ${name}`;
  if (moved) {
    scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
  if (one >= 0 && task.length) openTask(...task);
}

// Paper shows all of a page: nothing folded, no table cut.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const all of expanders) all();
});

startTheme();
addEventListener("hashchange", () => show(true));
show(false);
