// Draws the report's charts from the data on the page; nothing is fetched.
"use strict";
const page = JSON.parse(document.getElementById("views").textContent);
const options = { renderer: "svg", actions: false, ast: true, tooltip: { theme: "light" } };
const title = (name) => name.replaceAll("_", " ");
const started = [];

function draw(target, spec) {
  const done = vegaEmbed(target, spec, options);
  started.push(done);
  return done;
}

// One panel for each level of the attribute with fewer levels, one bar for each level of the other.
function trellis(table) {
  const [a, b] = table.of;
  const [m, n] = [page.axes[a].length, page.axes[b].length];
  const panels = m <= n ? a : b;
  const rows = [];
  table.values.forEach((value, i) => {
    const error = Array.isArray(table.errors) ? table.errors[i] : table.errors;
    const level = { [a]: Math.floor(i / n), [b]: i % n };
    const bars = panels === a ? b : a;
    rows.push({
      panel: page.axes[panels][level[panels]], bar: page.axes[bars][level[bars]],
      count: value, low: value - error, high: value + error, clear: value > error,
    });
  });
  const count = Math.min(m, n), width = Math.max(64, Math.min(230, Math.floor(850 / count) - 16));
  const top = Math.max(1, ...rows.map((r) => (Number.isFinite(r.high) ? r.high : r.count)));
  const low = Math.min(0, ...rows.map((r) => r.count));
  const x = (field) => ({
    field, type: "quantitative", scale: { domain: [low, top], nice: true },
    axis: { labelExpr: page.thousands, tickCount: width > 170 ? 4 : 2, labelOverlap: "greedy" },
  });
  const y = { field: "bar", type: "nominal", sort: null, axis: { labelLimit: 130 } };
  const tooltip = [
    { field: "panel", title: title(panels) }, { field: "bar", title: title(panels === a ? b : a) },
    { field: "count", title: "released count", format: ",.0f" },
    { field: "low", title: "from", format: ",.0f" }, { field: "high", title: "to", format: ",.0f" },
  ];
  return {
    data: { values: rows }, config: page.theme, columns: count > 9 ? Math.ceil(count / 2) : count, spacing: 16,
    facet: { field: "panel", type: "nominal", sort: page.axes[panels], header: { labelLimit: width + 10 } },
    spec: {
      width, height: { step: 17 },
      layer: [
        { mark: { type: "bar", clip: true }, encoding: { x: x("count"), y, tooltip,
          color: { condition: { test: "datum.clear", value: page.colours.pale }, value: "#e9e6dc" } } },
        { mark: { type: "rule", strokeWidth: 2.5, clip: true, strokeCap: "round" }, encoding: { x: x("low"),
          x2: { field: "high" }, y, tooltip,
          color: { condition: { test: "datum.clear", value: page.colours.leaf }, value: "#a9a595" } } },
      ],
    },
  };
}

const chooser = document.getElementById("pair");
function show(index) {
  const table = page.pairs[index];
  if (chooser) chooser.value = String(index);
  return draw("#chosen", trellis(table));
}

page.singles.forEach((spec, i) => draw(`#single-${i}`, spec));
if (page.pairs.length) {
  chooser.addEventListener("change", () => show(Number(chooser.value)));
  if (page.associations) {
    draw("#associations", page.associations).then(({ view }) =>
      view.addEventListener("click", (_, item) => item && item.datum && item.datum.pair >= 0 && show(item.datum.pair)));
  }
  show(page.strongest[0]);
  page.strongest.slice(1).forEach((index, i) => draw(`#strong-${i}`, trellis(page.pairs[index])));
}
const find = document.getElementById("find");
if (find) {
  find.addEventListener("input", () => {
    const word = find.value.trim().toLowerCase(), holds = (text) => text.toLowerCase().includes(word);
    document.querySelectorAll("#singles .grid > div").forEach((one) => { one.hidden = !holds(one.querySelector("h3").textContent); });
    if (chooser) for (const one of chooser.options) one.hidden = !holds(one.textContent);
  });
}
Promise.allSettled(started).then((all) => {
  const failed = all.filter((one) => one.status === "rejected");
  document.body.dataset.charts = failed.length ? "failed" : String(all.length);
  if (failed.length) console.error(failed[0].reason);
});
