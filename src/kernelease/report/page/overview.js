/* What is this? */

const RELATIONS = { "replace-one": "which is any other (replace-one)", "add-remove": "which is there or not (add-remove)" };

function overviewPanel() {
  const promise = DATA.promise;
  return [
    el("div", { class: "columns two" },
      el("div", {},
        el("h2", {}, "What is this?"),
        el("p", { class: "lead" }, ...(DATA.columns.length === 0 ? ["Synthetic vectors, published in place of private ones, with the noisy means that they were made from."]
          : DATA.tables !== undefined ? [`Synthetic tables, published in place of ${DATA.tables.map(({ name }) => short(name)).join(" and ")}, with the noisy counts that they were made from.`] : ["A synthetic table, published in place of ", named(DATA.title, 60), ", with the noisy counts that it was made from."]), " No row in it is a person."),
        DATA.tables === undefined ? personsSentence(promise) : el("p", {}, `Every ${short(DATA.person)} counts once here: its records share its weight. So a share or a mean of records is one over ${short(DATA.person)}s.`),
        DATA.notices.map((notice) => el("p", { class: "notice bad" }, notice)),
        factsOf([
          DATA.tables !== undefined ? ["Published", DATA.tables.map(({ name, rows }) => `${whole(rows)} ${short(name)}`).join(", ")] : null,
          [DATA.tables === undefined ? "Private table" : `Private ${short(DATA.person)}s`, `${whole(DATA.rows)} ${DATA.tables === undefined ? promise.one : "row"}s${DATA.total === null ? " by a noisy count" : ""}${DATA.columns.length === 0 ? "" : `, ${DATA.columns.length} columns`}`],
          DATA.tables !== undefined ? null : ["Published", `${whole(DATA.synthetic_rows)} synthetic rows`],
          ["Protects", shown(promise.unit)],
          ["Method", shown(promise.method)],
          ["Made with", `kernelease ${shown(promise.version)}`],
        ]),
        el("h3", {}, "What is not promised"), el("ul", {}, promise.not_promised.map((item) => el("li", {}, item)))),
      el("div", { id: "risk" }, riskCurve(promise))),
    el("div", { class: "columns two" },
      el("div", {}, el("h3", {}, "Signature and checksums"), el("div", { id: "seals" })),
      el("div", {}, el("h3", {}, "How to cite"), copyable("Text", citation()))),
  ];
}

/** What is counted, where a person may have several rows. */
function personsSentence(promise) {
  if (promise.one !== "person") return null;
  return el("p", {}, "Every person counts once here, as the average of their rows: a share or a mean is one over persons, and a synthetic row is one of a person.");
}

/** What the release is good for, and what not: two sentences for the head of the page. */
function worthSentence() {
  if (DATA.worth === null) return "";
  const { good, bad } = DATA.worth, parts = [];
  if (good.length > 0) parts.push(`Good for ${good.join("; ")}.`);
  if (bad.length > 0) parts.push(`Not for ${bad.join("; ")}.`);
  return parts.join(" ");
}

/** The guarantee in symbols. */
function smallPrint(promise) {
  if (!promise.private) return "The noise came from a seed.";
  const symbols = promise.delta === 0 ? `ε = ${brief(promise.epsilon)}, δ = 0` : `ε = ${brief(promise.epsilon)}, δ = ${brief(promise.delta)}`;
  return `Differential privacy: ${symbols}, for tables that differ in ${shown(promise.unit).replace(/^each /, "one ")}, ${RELATIONS[promise.neighbours] ?? promise.neighbours}.`;
}

/** The attacker's best test of a person, by how many false alarms the reader allows. */
function riskCurve(promise) {
  const curve = promise.curve.map(([rate, power]) => ({ rate, power }));
  const figure = el("div", { class: "figure" }), words = el("p", { "aria-live": "polite" });
  const slider = el("input", { type: "range", min: 0, max: curve.length - 1, value: nearestRate(curve, 0.05), id: "rate", oninput: () => redo() });
  function redo() {
    const at = curve[Number(slider.value)], digits = (share, least) => percent(share, share < least ? 2 : 1);
    slider.setAttribute("aria-valuetext", `${percent(at.rate, 2)} false alarms`);
    words.replaceChildren(
      "Suppose somebody knows every other row, suspects one person, and may be wrong about ",
      el("strong", {}, digits(at.rate, 0.01)), " of the innocent. They find a person who is in the table in at most ",
      el("strong", {}, digits(at.power, 0.1)), " of cases; by guessing alone, in ", digits(at.rate, 0.01), ".");
    figure.replaceChildren(riskPicture(curve, at));
  }
  redo();
  return [el("h3", {}, "How much can it tell about a person?"), figure,
    labelled("False alarms that are allowed", slider, "noprint"), words];
}

function riskPicture(curve, at) {
  const [width, height, left, top, bottom] = [460, 270, 46, 26, 40], floor = height - bottom;
  const x = (rate) => left + ((Math.log10(rate) + 4) / 4) * (width - left - 14), y = (power) => floor - power * (floor - top);
  const line = (points) => points.map(([rate, power]) => `${x(rate).toFixed(1)},${y(power).toFixed(1)}`).join("L");
  const [found, guessed] = [curve.map(({ rate, power }) => [rate, power]), curve.map(({ rate }) => [rate, rate])];
  return picture(width, height, `An attacker's best chance to find a person, against the share of innocent people accused; at ${percent(at.rate, 2)} it is ${percent(at.power, 2)}`,
    [0, 0.25, 0.5, 0.75, 1].map((power) => [ruled(left, y(power), width - 14, y(power), power === 0 ? "base" : "across"), written(left - 6, y(power) + 3.5, shareTick(power), "end")]),
    [1e-4, 1e-3, 0.01, 0.1, 1].map((rate) => [ruled(x(rate), floor, x(rate), floor + 4, "base"), written(x(rate), floor + 16, shareTick(rate))]),
    draw("path", { class: "area", d: `M${line(found)}L${line([...guessed].reverse())}Z` }),
    draw("path", { class: "guess", d: `M${line(guessed)}` }), draw("path", { class: "curve", d: `M${line(found)}` }),
    ruled(x(at.rate), top, x(at.rate), floor, "rule"), draw("circle", { class: "dot", cx: x(at.rate), cy: y(at.power), r: 5 }),
    written(left - 40, 12, "people found", "start"), written(width - 14, height - 6, "innocent people accused", "end"),
    written(x(0.3), y(0.3) + 26, "guessing", "middle"));
}

function nearestRate(curve, wanted) {
  const found = curve.findIndex(({ rate }) => rate >= wanted);
  return found < 0 ? curve.length - 1 : found;
}

function citation() {
  const name = short(DATA.title, 200), by = DATA.seals.key === null ? "" : ` Signed by key ${DATA.seals.key}.`;
  return `Synthetic rows in place of “${name}”, ${whole(DATA.synthetic_rows)} rows. ${short(DATA.promise.headline, 300)}. `
    + `kernelease ${short(DATA.promise.version, 20)}.${by}`;
}
