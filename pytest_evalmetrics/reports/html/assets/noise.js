// The noise of an unchanged system from run to run, and the settings that fit it.

const NOISE_LEAD = "Each chart shows one metric over runs of an unchanged system. "
  + "The band is the 95 % interval that a run's own tasks give. "
  + "Runs that differ by more than this band have noise of their own.";

// Lines as a list; what is indented belongs to the line before it.
function nestedList(lines) {
  const items = [];
  for (const line of lines) {
    const item = h("li", {}, line.trim());
    const above = items[items.length - 1];
    const isBelow = line.startsWith("  ") && above;
    if (!isBelow) {
      items.push(item);
      continue;
    }
    if (!above.querySelector("ul")) {
      above.append(h("ul", {}));
    }
    above.querySelector("ul").append(item);
  }
  return h("ul", {}, items);
}

function noiseCard(line) {
  const runs = line.values.map((_, at) => ({ label: `run ${at + 1}`, verdict: "PASS" }));
  return h("div", { class: "card" },
    h("h3", {}, h("code", {}, lineName(line))),
    lineChart(line, runs));
}

function noisePart(benchmark, at) {
  const cards = benchmark.charts.map(noiseCard);
  return section(`benchmark-${at}`, benchmark.id,
    nestedList(benchmark.text),
    cards.length ? h("div", { class: "grid" }, cards) : null);
}

function patchPart(patch) {
  if (!patch.length) {
    return null;
  }
  return section("patch", "Recommended settings",
    h("p", {}, "A patch to the benchmark files, for ", h("code", {}, "git apply"), ":"),
    scrolling("Patch", h("pre", {}, patch.join("\n"))));
}

function showNoise(noise) {
  const title = "Noise of an unchanged system";
  const parts = [
    h("h1", { tabindex: "-1" }, title),
    h("p", { class: "lead" }, NOISE_LEAD),
    noise.benchmarks.map(noisePart),
    patchPart(noise.patch),
  ];
  return [parts, title];
}
