/* Questions in the reader's own words, answered here where the page can, and by a line to copy where it can't. */

const STATISTICS = [["probability", "share of rows with …"], ["count", "how many rows"], ["mean", "mean of …"], ["crosstab", "cross-table of …"]];
const NEEDED = { count: ["where", "by"], probability: ["event", "where", "by"], mean: ["column", "where", "by"], crosstab: ["first", "second", "where"] };
const asked = { what: "probability", column: null, second: null, event: "", where: "", by: null };
let askFields = null;

function askPanel() {
  const names = DATA.columns.map((column, place) => [place, short(column.name)]);
  const numeric = names.filter(([place]) => DATA.columns[place].mean !== undefined), redo = (change) => (value) => { change(value); ask(); };
  const offered = STATISTICS.filter(([what]) => what !== "mean" || numeric.length > 0).filter(([what]) => what !== "crosstab" || names.length > 1);
  askFields = {
    what: choice("What", offered, redo((value) => { asked.what = value; arrangeAsk(); }), asked.what),
    event: textField("Condition", "", redo((value) => { asked.event = value; })),
    column: choice("Column", numeric, redo((value) => { asked.column = Number(value); })),
    first: choice("First", names, redo((value) => { asked.column = Number(value); })),
    second: choice("Second", names, redo((value) => { asked.second = Number(value); }), 1),
    where: textField("Among rows with (optional)", "", redo((value) => { asked.where = value; })),
    by: choice("By (optional)", [["", "–"], ...names], redo((value) => { asked.by = value === "" ? null : Number(value); })),
  };
  setAsked({ what: "probability", event: exampleOf(DATA.columns.find((column) => !isCelled(column) && column.values.length > 1) ?? DATA.columns[0]) });
  return [
    el("h2", {}, "Ask"),
    el("p", { class: "lead" }, "Every answer comes from the noisy counts, with an interval that holds the truth in 95 % of cases. ", el("code", {}, "kernelease query"), " says the same."),
    el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, Object.values(askFields).map(({ field }) => field)),
    el("p", { class: "hint" }, "Write conditions such as ", examples().flatMap((text, place) => [place === 0 ? null : ", ", el("button", { type: "button", class: "example", onclick: () => { setAsked({ what: "probability", event: text }); ask(); } }, text)]),
      ". Join them by and, or, not.", nullHint()),
    columnList(),
    el("div", { id: "answer", "aria-live": "polite" }),
    el("div", { id: "lines" }),
  ];
}

/** Every column with what it holds, to look up and to put into the condition. */
function columnList() {
  const add = (text) => () => {
    const { control } = asked.what === "probability" ? askFields.event : askFields.where, before = control.value.trim();
    control.value = before === "" ? text : `${before} and ${text}`;
    asked[asked.what === "probability" ? "event" : "where"] = control.value;
    ask();
  };
  const list = el("ul", { class: "names" });
  const details = el("details", { ontoggle: () => {
    if (list.childElementCount > 0) return;
    list.append(...DATA.columns.map((column) => el("li", {}, el("button", { type: "button", class: "example", onclick: add(exampleOf(column)) }, short(column.name, 40)), ` ${valuesText(column)}`)));
  } }, el("summary", {}, "All columns and their values"), list);
  return details;
}

/** What a column holds: its range, or its first values. */
function valuesText(column) {
  const known = valuesOf(column), missing = column.nullable ? ", or null" : "";
  if (isCelled(column)) return `${boundText(column, known[0])} to ${boundText(column, known.at(-1))}${missing}`;
  const texts = known.slice(0, 12).map((atom) => short(valueText(column, atom), 24));
  return `${texts.join(", ")}${known.length > texts.length ? ` and ${known.length - texts.length} more` : ""}${missing}`;
}

function nullHint() {
  const column = DATA.columns.find(({ nullable }) => nullable);
  return column === undefined ? null : [" A missing value is null: ", el("code", {}, `${column.spelled} is null`), "."];
}

/** Conditions on columns that are there, with values that are there: one of each kind. */
function examples() {
  const number = DATA.columns.find((column) => ["integer", "number"].includes(column.type)), date = DATA.columns.find((column) => ["date", "datetime"].includes(column.type));
  const listed = DATA.columns.filter((column) => !isCelled(column) && column.type !== "boolean" && column.values.filter((value) => value !== null).length > 1), several = listed.find((column) => column.values.length > 2), found = [];
  if (number !== undefined) {
    const round = ticksOf(number.low[0], number.high.at(-1), 5, number.type === "integer").slice(1, 3);
    found.push(exampleOf(number), ...(round.length === 2 ? [`${number.spelled} between ${round[0]} and ${round[1]}`] : []));
  }
  if (listed.length > 0) found.push(exampleOf(listed[0]));
  if (several !== undefined) found.push(`${several.spelled} in (${several.values.filter((value) => value !== null).slice(0, 2).map((value) => literalOf(several, value)).join(", ")})`);
  if (date !== undefined) found.push(exampleOf(date));
  return (found.length === 0 ? [exampleOf(DATA.columns[0])] : found).filter((text) => text.length < 60);
}

function textField(label, value, oninput) {
  const control = el("input", { type: "text", value, spellcheck: "false", autocomplete: "off", autocapitalize: "off", oninput: () => oninput(control.value) });
  return { field: labelled(label, control, "grow"), control };
}

/** Put a question into the form. */
function setAsked(question) {
  const found = { what: "probability", column: null, second: null, event: "", where: "", by: null, ...question };
  for (const name of ["what", "event", "where"]) askFields[name].control.value = found[name];
  askFields.by.control.value = found.by ?? "";
  if (found.column !== null) (found.what === "mean" ? askFields.column : askFields.first).control.value = found.column;
  if (found.second !== null) askFields.second.control.value = found.second;
  Object.assign(asked, found);
  arrangeAsk();
}

/** Show the fields that a question needs, and read what they hold. */
function arrangeAsk() {
  for (const [name, { field }] of Object.entries(askFields)) field.hidden = name !== "what" && !NEEDED[asked.what].includes(name);
  const { column, first, second } = askFields, chosen = (asked.what === "mean" ? column : first).control.value;
  asked.column = chosen === "" ? null : Number(chosen);
  asked.second = Number(second.control.value);
}

/* ---- A question as the fragment of an address: whoever opens it sees the same answer. */

function fragmentOf({ what, column, second, event, where, by }) {
  const parts = { what, ...(what === "probability" ? { event } : {}), ...(["mean", "crosstab"].includes(what) && column !== null ? { column: DATA.columns[column].name } : {}),
    ...(what === "crosstab" ? { second: DATA.columns[second].name } : {}), ...(where.trim() === "" ? {} : { where }), ...(by === null || what === "crosstab" ? {} : { by: DATA.columns[by].name }) };
  return `#ask?${new URLSearchParams(parts)}`;
}

/** The question of a fragment; null where it has none, or one about other columns. */
function questionIn(fragment) {
  const parts = new URLSearchParams(fragment.split("?").slice(1).join("?")), place = (name) => DATA.columns.findIndex((column) => column.name === name);
  const found = { what: parts.get("what"), event: parts.get("event") ?? "", where: parts.get("where") ?? "", column: null, second: null, by: null };
  for (const name of ["column", "second", "by"]) if (parts.has(name)) found[name] = place(parts.get(name));
  return found.what in NEEDED && [found.column, found.second, found.by].every((column) => column !== -1) ? found : null;
}

function ask() {
  const answer = document.getElementById("answer"), lines = document.getElementById("lines");
  if (answer === null) return;
  let question = asked;
  try {
    question = inCommandWords(asked);
    answer.replaceChildren(...answerOf(asked));
  } catch (error) {
    if (error instanceof Unreadable) answer.replaceChildren(el("p", { class: "notice bad" }, error.message));
    else if (error instanceof NotHere) answer.replaceChildren(el("p", { class: "notice" }, `${error.message} Copy a line below: kernelease answers it.`));
    else throw error;
  }
  const fragment = fragmentOf(asked), address = location.href.split("#")[0] + fragment;
  if (location.hash.startsWith("#ask")) history.replaceState(null, "", fragment);
  lines.replaceChildren(copyable("Command", commandOf(question)), copyable("Python", pythonOf(question)), copyable("Link", address));
}

/** The question with conditions as the command line reads them. */
function inCommandWords(question) {
  const told = (text) => {
    try {
      return text.trim() === "" ? text : conditionOf(text).text;
    } catch (error) {
      if (error instanceof NotHere) return text;
      throw error;
    }
  };
  return { ...question, event: question.what === "probability" ? told(question.event) : question.event, where: told(question.where) };
}

function answerOf({ what, column, second, event, where, by }) {
  const condition = where.trim() === "" ? null : conditionOf(where);
  if (what === "crosstab") return [tableShown(crossChecked(column, second, condition), column, second)];
  const groups = what === "mean" ? means(column, condition, by) : shares(what === "count" ? null : conditionOf(event), condition, by, what === "count");
  return [groupsShown(groups, by === null ? null : by, what)];
}

function crossChecked(first, second, condition) {
  if (first === second) throw new Unreadable("A cross-table needs two different columns.");
  return crossTable(first, second, condition);
}

const NOBODY = { value: NaN, low: NaN, high: NaN, text: "no row that the schema allows", little: true };
const CUT = "The condition cuts through counted cells. Where in their cells rows lie was not measured, so the interval is wider.";

/** What must be known of an answer. */
function remarksOn(estimate) {
  return [estimate.little ? "Too small to tell: the interval is wider than the answer." : "", estimate.cut ? CUT : "", estimate.remark ?? ""].filter((text) => text !== "").join(" ");
}

/** An estimate with all its digits, and as the command line prints it, for whoever reads the page by a program. */
function digitsIn({ value, low, high, text }) {
  return { "data-value": String(value), "data-low": String(low), "data-high": String(high), "data-printed": text };
}

/** An estimate as people say it: a share in percent. */
function saidOf(estimate, what) {
  return what === "probability" && Number.isFinite(estimate.value) ? shareText(estimate) : estimate.text;
}

/** The ends of an interval, in percent where they are those of a share. */
function endsOf({ value, low, high }, what) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return "";
  const digits = Math.min(3, decimals(100 * Math.max(value - low, high - value, 0) || 1));
  return what === "probability" ? `${fixed(100 * low, digits)} to ${fixed(100 * high, digits)}${HARD}%` : `${brief(low)} to ${brief(high)}`;
}

function groupsShown(groups, by, what) {
  const rows = groups.map(({ label, atoms, estimate }) => ({ label, atoms, estimate: estimate ?? NOBODY }));
  if (by === null) {
    const [{ estimate }] = rows, ends = endsOf(estimate, what);
    return el("div", { class: "answer" }, el("p", { class: "big", ...digitsIn(estimate) }, saidOf(estimate, what)),
      el("p", {}, ends === "" ? "" : `95 % interval: ${ends}`),
      el("p", { class: "remark" }, remarksOn(estimate)));
  }
  const column = DATA.columns[by], table = tableOf(`by ${short(column.name)}`, [short(column.name), "estimate", "95 % interval", ""],
    rows.map(({ label, estimate }) => [named(label), el("span", { class: "estimate", ...digitsIn(estimate) }, saidOf(estimate, what)), endsOf(estimate, what), estimate.little ? "too small to tell" : ""]), (place) => place === 1 || place === 2);
  const notes = [...new Set(rows.map(({ estimate }) => (estimate.cut ? CUT : "")).concat(rows.map(({ estimate }) => estimate.remark ?? "")))].filter((text) => text !== "");
  const entries = rows.map(({ label, atoms, estimate }) => ({ label, atoms, mark: NaN, ...estimate, text: saidOf(estimate, what) }));
  const drawn = rows.length > 120 ? null : what === "mean" || what === "probability" ? dots(entries, 620, `${what} by ${short(column.name)}`, what === "probability" ? shareTick : tickText)
    : distribution(column, entries.map((entry) => ({ ...entry, value: entry.value / DATA.rows, low: entry.low / DATA.rows, high: entry.high / DATA.rows })), 620, { marked: null, most: 40 });
  return el("div", { class: "answer" }, drawn === null ? null : el("div", { class: "figure" }, drawn), table, notes.map((text) => el("p", { class: "remark" }, text)));
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

/** The words of a question: its statistic's own, a condition, a grouping. */
function wordsOf({ what, column, second, event, where, by }) {
  const own = { count: [], probability: [event], mean: [DATA.columns[column]?.name], crosstab: [DATA.columns[column]?.name, DATA.columns[second]?.name] }[what];
  return { own, where: where.trim() === "" ? null : where, by: by === null || what === "crosstab" ? null : DATA.columns[by].name };
}

function commandOf(question) {
  const { own, where, by } = wordsOf(question), options = [...(where === null ? [] : ["--where", where]), ...(by === null ? [] : ["--by", by])];
  return ["kernelease", "query", DATA.bundle, question.what, ...own, ...options].map(shellWord).join(" ");
}

function pythonOf(question) {
  const { own, where, by } = wordsOf(question), words = own.map(pythonText);
  if (where !== null) words.push(`where=${pythonText(where)}`);
  if (by !== null) words.push(`by=${pythonText(by)}`);
  return `kernelease.load(${pythonText(DATA.bundle)})${DATA.tables === undefined ? "" : ".flat"}.${question.what}(${words.join(", ")})`;
}
