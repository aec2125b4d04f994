/* What a data protection officer signs off: the promise, the budget, the noise, what was checked and what is trusted. */

function officerPanel() {
  const promise = DATA.promise;
  return [
    el("div", { class: "spread" }, el("h2", {}, "For the officer"), el("button", { type: "button", class: "noprint", onclick: () => print() }, "Print")),
    el("p", { class: "lead" }, shown(promise.words)), el("p", { class: "hint" }, shown(promise.headline)),
    el("div", { class: "columns two" },
      el("div", {}, el("h3", {}, "The promise"), factsOf([
        ["epsilon", brief(promise.epsilon)],
        ["delta", promise.delta === 0 ? "0 (pure)" : brief(promise.delta)],
        promise.mu > 0 && ["mu (Gaussian privacy)", brief(promise.mu)],
        ["neighbouring tables", promise.neighbours],
        ["unit of protection", shown(promise.unit)],
        [DATA.tables === undefined ? `number of ${promise.one}s` : "number of rows", DATA.total === null ? `protected; by a noisy count ${whole(DATA.rows)}` : `${whole(DATA.rows)}, public`],
        promise.published > 0 && ["without guarantee", `${whole(promise.published)} rows published before`],
        ["method", short(promise.settings, 300)],
        promise.kernel && ["kernel", short(promise.kernel, 200)],
        ["public seed", String(promise.seed)],
      ])),
      el("div", {}, el("h3", {}, "The budget"), ...budgetShown(promise.ledger))),
    el("h3", {}, "What was checked when this page was made"),
    el("ul", { class: "checks" }, DATA.seals.findings.map((item) => sealLine(item.check, { state: item.open ? "open" : item.holds ? "good" : "bad", text: short(item.detail, 400) }))),
    el("h3", {}, "What is taken on trust"),
    el("ul", {}, DATA.seals.on_trust.map((item) => el("li", {}, item))),
    el("h3", {}, "Columns and their bounds, as declared"),
    boundsShown(),
    el("h3", {}, "Noise of each measurement"),
    stepsShown(),
    el("h3", { id: "sheet-title" }, "Data sheet"),
    datasheetShown(),
  ];
}

/** What the ledger had spent before, and what this release adds. */
function budgetShown(ledger) {
  const parts = [{ part: "before", size: ledger.before, kind: "bar off" }, { part: "this release", size: ledger.this, kind: "bar" }].filter(({ size }) => size > 0);
  const all = sum(parts.map(({ size }) => size)) || 1, [width, left] = [420, 6], room = width - left - 40, unit = ledger.measure === "epsilon" ? "ε" : "μ²";
  let from = 0;
  const bars = parts.map(({ part, size, kind }) => {
    const start = left + (from / all) * room, wide = (size / all) * room;
    from += size;
    return [draw("rect", { class: kind, x: start, y: 20, width: Math.max(1, wide - 1), height: 22 }, said(`${part}: ${brief(size, 3)}`)), wide > 60 ? written(start + 4, 14, part, "start") : null];
  });
  return [
    el("div", { class: "figure" }, picture(width, 66, `Of the budget, ${brief(ledger.before, 3)} was spent before and ${brief(ledger.this, 3)} by this release`, bars,
      ticksOf(0, all, 4).map((value) => [ruled(left + (value / all) * room, 42, left + (value / all) * room, 46, "base"), written(left + (value / all) * room, 58, tickText(value), value === 0 ? "start" : "middle")]), written(width, 58, unit, "end"))),
    el("p", { class: "hint" }, `${unit === "ε" ? "ε adds up" : "μ² adds up"} over releases.`),
    el("p", {}, shown(ledger.text)),
  ];
}

function boundsShown() {
  if (DATA.columns.length === 0) return el("p", {}, "None: an array of rows.");
  return tableOf("Declared columns", ["column", "type", "from", "to", "cells", "NULL"], DATA.columns.map((column) => {
    const known = valuesOf(column);
    return [named(column.name), column.type, short(boundText(column, known[0]), 30), short(boundText(column, known.at(-1)), 30), whole(column.size), column.nullable ? "yes" : "no"];
  }), (place) => place === 4);
}

function boundText(column, atom) {
  return isCelled(column) ? rangeText({ ...column, high: column.low, spacing: 1 }, atom, atom) : valueText(column, atom);
}

function stepsShown() {
  const detailed = DATA.steps.some((step) => step.length > 3);
  const rows = DATA.steps.map(([what, numbers, noise, share, round]) => [stepName(what), whole(numbers), brief(noise, 3), ...(detailed ? [percent(share, 2), String(round + 1)] : [])]);
  const table = tableOf("Every measurement", ["what", "numbers", "noise (standard deviation)", ...(detailed ? ["share of the budget", "round"] : [])], rows, (place) => place > 0);
  table.classList.add("steps");
  return [table, rows.length > 25 ? el("p", { class: "paper" }, `The first 25 of ${whole(rows.length)}: certificate.json has all of them.`) : null];
}

function stepName(what) {
  if (typeof what === "string") return short(what, 60);
  return what.length === 0 ? "number of rows" : what.map((column) => short(DATA.columns[column].name, 24)).join(" × ");
}

/* ---- The data sheet: Markdown as kernelease writes it, as elements. */

function datasheetShown() {
  const file = DATA.seals.documents["datasheet.md"];
  return el("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": "Data sheet" }, file === undefined ? el("p", {}, "It was left out of this page: it is datasheet.md in the bundle.") : rendered(new TextDecoder().decode(bytesOf(file))));
}

/** Blocks of Markdown: headings, tables, lists and paragraphs. Whatever else it holds stays text. */
function rendered(text) {
  const blocks = [];
  for (const part of text.split(/\n{2,}/)) {
    const lines = part.split("\n").filter((line) => line.trim() !== "");
    if (lines.length === 0) continue;
    const heading = /^(#{1,6}) (.*)$/.exec(lines[0]);
    if (heading) {
      if (heading[1].length > 1) blocks.push(el("h4", {}, inline(heading[2]))); /* the first is the page's own */
      lines.shift();
    }
    if (lines.length === 0) continue;
    if (lines.every((line) => line.startsWith("|"))) blocks.push(markdownTable(lines));
    else if (lines[0].startsWith("- ")) blocks.push(el("ul", {}, lines.join("\n").split(/\n(?=- )/).map((item) => el("li", {}, inline(item.slice(2).replaceAll(/\s*\n\s*/g, " "))))));
    else blocks.push(el("p", {}, inline(lines.join(" "))));
  }
  return blocks;
}

function markdownTable(lines) {
  const ruled = (line) => /^\|[\s:|-]+\|$/.test(line) && line.includes("-"), cells = (line) => line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim());
  const head = lines.length > 1 && ruled(lines[1]) ? cells(lines[0]) : [], body = lines.slice(head.length === 0 ? 0 : 2).filter((line) => !ruled(line)).map(cells);
  return el("table", {}, head.some((cell) => cell !== "") ? el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col" }, inline(cell))))) : null,
    el("tbody", {}, body.map((row) => el("tr", {}, row.map((cell, place) => (place === 0 ? el("th", { scope: "row" }, inline(cell)) : el("td", {}, inline(cell))))))));
}

/** Bold and code inside a line; a backslash takes the meaning from what follows it. */
function inline(text) {
  const clean = (part) => short(part.replace(/\\([\\`*_[\]<>#|~&])/g, "$1"), 2000);
  return text.split(/(\*\*(?:[^*\\]|\\.)+\*\*|`[^`]+`)/).filter((part) => part !== "").map((part) => {
    if (part.startsWith("**") && part.endsWith("**") && part.length > 4) return el("strong", {}, clean(part.slice(2, -2)));
    return part.startsWith("`") && part.length > 2 ? el("code", {}, clean(part.slice(1, -1))) : clean(part);
  });
}
