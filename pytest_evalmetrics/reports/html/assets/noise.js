// The noise of an unchanged system from run to run, and the settings that fit it.

function noisePart(benchmark, at) {
  const items = [];
  for (const text of benchmark.text) { // what is indented belongs to the line before it
    const part = h("li", {}, text.trim());
    if (text.startsWith("  ") && items.length) {
      const above = items[items.length - 1];
      if (!above.querySelector("ul")) above.append(h("ul", {}));
      above.querySelector("ul").append(part);
    } else items.push(part);
  }
  const cards = benchmark.charts.map((line) => h("div", { class: "card" }, h("h3", {}, h("code", {}, lineName(line))),
    lineChart(line, line.values.map((_, i) => ({ label: `run ${i + 1}`, verdict: "PASS" })))));
  return section(`benchmark-${at}`, benchmark.id, h("ul", {}, items), cards.length ? h("div", { class: "grid" }, cards) : null);
}

function showNoise(noise) {
  const title = "Noise of an unchanged system";
  return [[
    h("h1", { tabindex: "-1" }, title),
    h("p", { class: "lead" }, "Each chart shows one metric over runs of an unchanged system. The band is the 95 % interval that a run's own tasks give. Runs that differ by more than this band have noise of their own."),
    noise.benchmarks.map(noisePart),
    noise.patch.length ? section("patch", "Recommended settings", h("p", {}, "A patch to the benchmark files, for ", h("code", {}, "git apply"), ":"),
      scrolling("Patch", h("pre", {}, noise.patch.join("\n")))) : null,
  ], title];
}
