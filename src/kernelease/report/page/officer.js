/* What a data protection officer signs off: the promise, the budget, the noise, what was checked and what is trusted. */

function officerPanel() {
  const promise = DATA.promise;
  return [
    el("div", { class: "spread" }, el("h2", {}, "For the officer"), el("button", { type: "button", class: "noprint", onclick: () => print() }, "Print")),
    el("p", { class: "lead" }, shown(promise.headline)),
    el("div", { class: "columns two" },
      el("div", {}, el("h3", {}, "The promise"), factsOf([
        ["epsilon", brief(promise.epsilon)],
        ["delta", promise.delta === 0 ? "0 (pure)" : brief(promise.delta)],
        promise.mu > 0 && ["mu (Gaussian privacy)", brief(promise.mu)],
        ["neighbouring tables", promise.neighbours],
        ["unit of protection", shown(promise.unit)],
        ["number of rows", DATA.total === null ? `protected; by a noisy count ${whole(DATA.rows)}` : `${whole(DATA.rows)}, public`],
        promise.published > 0 && ["without guarantee", `${whole(promise.published)} rows published before`],
        ["method", short(promise.settings, 300)],
        promise.kernel && ["kernel", short(promise.kernel, 200)],
        ["public seed", String(promise.seed)],
      ])),
      el("div", {}, el("h3", {}, "The budget"), ...budgetShown(promise.ledger))),
    el("h3", {}, "What was checked when this page was made"),
    el("ul", { class: "checks" }, DATA.seals.findings.map((item) => sealLine(item.check, { state: item.holds ? "good" : "bad", text: short(item.detail, 400) }))),
    el("h3", {}, "What is taken on trust"),
    el("ul", {}, DATA.seals.on_trust.map((item) => el("li", {}, item))),
    el("h3", {}, "Columns and their bounds, as declared"),
    boundsShown(),
    el("h3", {}, "Noise by block"),
    stepsShown(),
    el("h3", {}, "Data sheet"),
    datasheetShown(),
  ];
}

/** What the ledger had spent before, and what this release adds. */
function budgetShown(ledger) {
  const parts = [{ part: "before", size: ledger.before }, { part: "this release", size: ledger.this }].filter(({ size }) => size > 0);
  return [
    el("div", { class: "figure" }, chart({
      width: 420, height: 92, marginLeft: 10, marginRight: 10, marginBottom: 34,
      x: { label: `${ledger.measure === "epsilon" ? "ε" : "μ²"}, which adds up →`, ticks: 4, nice: true },
      color: { domain: ["before", "this release"], range: [SOFT, BLUE] },
      marks: [Plot.barX(parts, { x: "size", fill: "part", inset: 0.5 }), Plot.text(parts, Plot.stackX({ x: "size", text: "part", fill: "var(--paper)", fontWeight: 600 }))],
    }, `Of the budget, ${brief(ledger.before, 3)} was spent before and ${brief(ledger.this, 3)} by this release`)),
    el("p", {}, shown(ledger.text)),
  ];
}

function boundsShown() {
  if (DATA.columns.length === 0) return el("p", {}, "None: an array of rows.");
  return tableOf("Declared columns", ["column", "type", "from", "to", "cells", "NULL"], DATA.columns.map((column) => {
    const last = column.labels.length - 1 - (column.nullable ? 1 : 0);
    return [named(column.name), column.type, short(column.labels[0], 30), short(column.labels[last], 30), whole(column.labels.length), column.nullable ? "yes" : "no"];
  }), (place) => place === 4);
}

function stepsShown() {
  const detailed = DATA.steps.some((step) => step.share !== undefined);
  const rows = DATA.steps.map((step) => [short(step.what, 60), whole(step.numbers), brief(step.noise, 3),
    ...(detailed ? [percent(step.share, 2), String(step.round + 1)] : [])]);
  return tableOf("Every measurement", ["what", "numbers", "noise (standard deviation)", ...(detailed ? ["share of the budget", "round"] : [])], rows, (place) => place > 0);
}

function datasheetShown() {
  const file = DATA.seals.documents["datasheet.md"];
  return el("pre", { class: "sheet", tabindex: "0" }, file === undefined ? "none" : shownLines(new TextDecoder().decode(bytesOf(file))));
}

function shownLines(text) {
  return text.split("\n").map((line) => short(line.replace(/\\([\\`*_[\]<>#|~&])/g, "$1"), 2000)).join("\n");
}
