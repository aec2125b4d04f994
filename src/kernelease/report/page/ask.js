/* Questions in the reader's own words, answered here where the page can, and by a line to copy where it can't. */

const STATISTICS = [["count", "how many rows"], ["probability", "share of rows with …"], ["mean", "mean of …"], ["crosstab", "cross-table of …"]];
const asked = { what: "probability", column: null, second: null, event: "", where: "", by: null };

function askPanel() {
  if (DATA.columns.length === 0) return [el("h2", {}, "Ask"), el("p", {}, "This release is of vectors: ask it in Python."), copyable("Python", `kernelease.load(${pythonText(DATA.bundle)})`)];
  const names = DATA.columns.map((column, place) => [place, short(column.name)]);
  const numeric = names.filter(([place]) => DATA.columns[place].mean !== undefined), none = [["", "–"]];
  asked.event = exampleCondition();
  const redo = (change) => (value) => { change(value); ask(); };
  const fields = {
    what: choice("What", STATISTICS, redo((value) => { asked.what = value; arrange(); }), asked.what),
    event: textField("Condition", asked.event, redo((value) => { asked.event = value; })),
    column: choice("Column", numeric, redo((value) => { asked.column = Number(value); })),
    first: choice("First", names, redo((value) => { asked.column = Number(value); })),
    second: choice("Second", names, redo((value) => { asked.second = Number(value); }), 1),
    where: textField("Among rows with (optional)", "", redo((value) => { asked.where = value; })),
    by: choice("By (optional)", [...none, ...names], redo((value) => { asked.by = value === "" ? null : Number(value); })),
  };
  function arrange() {
    const needed = { count: ["where", "by"], probability: ["event", "where", "by"], mean: ["column", "where", "by"], crosstab: ["first", "second", "where"] }[asked.what];
    for (const [name, { field }] of Object.entries(fields)) field.hidden = name !== "what" && !needed.includes(name);
    asked.column = asked.what === "mean" ? Number(fields.column.control.value) : Number(fields.first.control.value);
    asked.second = Number(fields.second.control.value);
  }
  arrange();
  return [
    el("h2", {}, "Ask"),
    el("p", { class: "lead" }, "Answers come from the noisy measurements, with intervals that hold the truth in 95 % of cases: the same numbers as kernelease query."),
    el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, Object.values(fields).map(({ field }) => field)),
    el("p", { class: "hint" }, "Conditions: age > 30 and sex == 'Female', with and, or, not, in ('a', 'b'), is null. Text and dates go in single quotes."),
    el("div", { id: "answer", "aria-live": "polite" }),
    el("div", { id: "lines" }),
  ];
}

function exampleCondition() {
  const listed = DATA.columns.find((column) => column.values !== undefined && column.values.length > 1);
  if (listed === undefined) return `${DATA.columns[0].spelled} > ${DATA.columns[0].low[Math.floor(DATA.columns[0].low.length / 2)]}`;
  return `${listed.spelled} == ${literal(listed.values[0])}`;
}

function literal(value) {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}

function textField(label, value, oninput) {
  const control = el("input", { type: "text", value, spellcheck: "false", autocomplete: "off", oninput: () => oninput(control.value) });
  return { field: labelled(label, control, "grow"), control };
}

function ask() {
  const answer = document.getElementById("answer"), lines = document.getElementById("lines");
  if (answer === null) return;
  lines.replaceChildren(copyable("Command", commandOf(asked)), copyable("Python", pythonOf(asked)));
  try {
    answer.replaceChildren(...answerOf(asked));
  } catch (error) {
    if (error instanceof Unreadable) answer.replaceChildren(el("p", { class: "notice bad" }, error.message));
    else if (error instanceof NotHere) answer.replaceChildren(el("p", { class: "notice" }, `${error.message} Copy a line below: kernelease answers it.`));
    else throw error;
  }
}

function answerOf({ what, column, second, event, where, by }) {
  const condition = where.trim() === "" ? null : conditionOf(where);
  if (what === "crosstab") return [tableShown(crossChecked(column, second, condition), column, second)];
  const groups = what === "mean" ? means(column, condition, by) : shares(what === "count" ? null : conditionOf(event), condition, by, what === "count");
  return [groupsShown(groups, by === null ? null : DATA.columns[by], what)];
}

function crossChecked(first, second, condition) {
  if (first === second) throw new Unreadable("A cross-table needs two different columns.");
  const { down, across, cells } = crossTable(first, second, condition);
  return { down, across, cells };
}

const NOBODY = { value: NaN, low: NaN, high: NaN, text: "no row that the schema allows", little: false };

function groupsShown(groups, by, what) {
  const rows = groups.map(({ label, estimate }) => ({ label, estimate: estimate ?? NOBODY }));
  const told = ({ estimate }) => [el("span", { class: "estimate" }, estimate.text), `${brief(estimate.low)} to ${brief(estimate.high)}`,
    estimate.little ? "too small to tell" : estimate.remark ?? ""];
  if (by === null) {
    const [{ estimate }] = rows;
    return el("div", { class: "answer" }, el("p", { class: "big" }, estimate.text),
      el("p", {}, Number.isFinite(estimate.low) ? `95 % interval: ${brief(estimate.low)} to ${brief(estimate.high)}` : ""), el("p", {}, told(rows[0])[2]));
  }
  const table = tableOf(`by ${short(by.name)}`, [short(by.name), "estimate", "95 % interval", ""], rows.map((row) => [named(row.label), ...told(row)]), (place) => place === 1 || place === 2);
  const entries = rows.map(({ label, estimate }) => ({ label, synthetic: NaN, ...estimate }));
  const picture = what === "mean" || rows.length > 120 ? null : el("div", { class: "figure" }, distribution(by, entries.map((entry) => (what === "count" ? { ...entry, value: entry.value / DATA.rows, low: entry.low / DATA.rows, high: entry.high / DATA.rows } : entry)), 620, { rows: false }));
  return el("div", { class: "answer" }, picture, table);
}

function tableShown({ down, across, cells }, first, second) {
  const header = [`${short(DATA.columns[first].name, 16)} \\ ${short(DATA.columns[second].name, 16)}`, ...across.map(({ label }) => short(label, 18))];
  return el("div", { class: "answer" }, tableOf("Share of rows in each cell", header,
    down.map(({ label }, row) => [short(label, 24), ...cells[row].map((estimate) => (estimate ?? NOBODY).text)]), (place) => place > 0));
}

/** A word of a shell that no shell reads as anything else. */
function shellWord(text) {
  if (/^[\w./:-]+$/.test(text)) return text;
  return text.includes("'") && !/["$`\\!]/.test(text) ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`;
}

function pythonText(text) {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function commandOf({ what, column, second, event, where, by }) {
  const words = { count: [], probability: [event], mean: [DATA.columns[column]?.name], crosstab: [DATA.columns[column]?.name, DATA.columns[second]?.name] }[what];
  const options = [...(where.trim() === "" ? [] : ["--where", where]), ...(by === null || what === "crosstab" ? [] : ["--by", DATA.columns[by].name])];
  return ["kernelease", "query", DATA.bundle, what, ...words, ...options].map(shellWord).join(" ");
}

function pythonOf({ what, column, second, event, where, by }) {
  const words = { count: [], probability: [event], mean: [DATA.columns[column]?.name], crosstab: [DATA.columns[column]?.name, DATA.columns[second]?.name] }[what].map(pythonText);
  if (where.trim() !== "") words.push(`where=${pythonText(where)}`);
  if (by !== null && what !== "crosstab") words.push(`by=${pythonText(DATA.columns[by].name)}`);
  return `kernelease.load(${pythonText(DATA.bundle)}).${what}(${words.join(", ")})`;
}
