/* Where the synthetic rows part from the measurements, and what they look like. */

function rowsPanel() {
  if (DATA.columns.length === 0) return [el("h2", {}, "Rows"), ...sampleShown()];
  return [el("h2", {}, "Rows against answers"), ...disagreementsShown(), el("h3", {}, "A sample of the synthetic rows"), ...sampleShown()];
}

function disagreementsShown() {
  const found = DATA.disagreements;
  if (found === null || found.cells === 0) return [el("p", {}, "No counts were measured that the rows could be held against.")];
  const near = found.mean_square < 1.5;
  return [
    el("p", { class: "lead" }, `The synthetic rows were fitted to ${whole(found.cells)} noisy counts. `,
      el("strong", {}, near ? "They are as near to them as the noise allows." : "They are further from them than the noise explains.")),
    el("p", { class: "hint" }, `Mean square of the distance, in standard errors: ${brief(found.mean_square, 3)}. Noise alone makes it about 1.`),
    el("p", {}, "These cells are furthest apart. Where a number matters, take the estimate, not the rows."),
    tableOf("Cells where rows and estimates differ most", ["cell", "synthetic rows", "estimate", "standard errors apart"],
      found.worst.map((cell) => [cellName(cell), whole(cell.rows), whole(cell.estimate), brief(cell.z, 3)]), (place) => place > 0),
  ];
}

function cellName({ columns, atoms }) {
  return columns.map((place, axis) => `${short(DATA.columns[place].name, 24)}: ${short(labelOf(DATA.columns[place], atoms[axis]), 40)}`).join(", ");
}

function sampleShown() {
  if (DATA.tables !== undefined) return tablesShown();
  const { names, rows } = DATA.sample;
  const save = el("button", { type: "button", onclick: () => download(`${fileName(DATA.title)}-sample.csv`, csvOf(names, rows)) }, `Download these ${rows.length} rows as CSV`);
  return [
    el("p", {}, `No row here is a person. Each was drawn from a model of the noisy ${DATA.columns.length === 0 ? "means" : "counts"}.`),
    tableOf("Synthetic rows", names.map((name) => short(name, 20)), rows.slice(0, 50).map((row) => row.map((cell) => (cell === null ? "" : short(cell, 40))))),
    el("p", {}, save),
    copyable("All rows", `kernelease export ${shellWord(DATA.bundle)} --out rows.csv`),
  ];
}

/** The first rows of each of several tables. */
function tablesShown() {
  return [
    el("p", {}, "No row here is a person. Keys count from 1, and every reference is to a row that is there."),
    ...DATA.tables.flatMap(({ name, rows, names, sample }) => [el("h4", {}, named(name), el("small", {}, ` ${whole(rows)} rows`)),
      tableOf(`First rows of ${short(name, 40)}`, names.map((one) => short(one, 20)), sample.map((row) => row.map((cell) => (cell === null ? "" : short(cell, 40)))))]),
    copyable("All rows", `kernelease export ${shellWord(DATA.bundle)} --out FOLDER`),
  ];
}

/** CSV as RFC 4180 writes it; a text that a spreadsheet would take for a formula gets an apostrophe before it. */
function csvOf(names, rows) {
  const cell = (text) => {
    if (text === null) return "";
    const safe = /^[=@\t\r]|^[+-](?![\d.]+$)/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function fileName(text) {
  return text.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40) || "rows";
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
