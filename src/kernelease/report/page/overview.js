/* What is this? */

const FOLDS = { "replace-one": "one person's row is replaced by any other", "add-remove": "one person's row is added or removed" };

function overviewPanel() {
  const promise = DATA.promise;
  return [
    el("div", { class: "columns two" },
      el("div", {},
        el("h2", {}, "What is this?"),
        el("p", { class: "lead" }, "A synthetic table, published in place of ", named(DATA.title, 60),
          ", and the noisy counts that it was made from. No row in it is a person."),
        guarantee(promise),
        DATA.notices.map((notice) => el("p", { class: "notice bad" }, notice)),
        factsOf([
          ["Private table", `${whole(DATA.rows)} ${DATA.total === null ? "rows by a noisy count" : "rows"}, ${DATA.columns.length} columns`],
          ["Published", `${whole(DATA.synthetic_rows)} synthetic rows`],
          ["Protects", shown(promise.unit)],
          ["Method", shown(promise.method)],
          ["Made with", `kernelease ${shown(promise.version)}`],
        ])),
      el("div", { id: "risk" }, riskCurve(promise))),
    el("div", { class: "columns two" },
      el("div", {}, el("h3", {}, "What is not promised"), el("ul", {}, promise.not_promised.map((item) => el("li", {}, item)))),
      el("div", {}, el("h3", {}, "Signature and checksums"), el("div", { id: "seals" }))),
    el("h3", {}, "How to cite"),
    copyable("Text", citation()),
  ];
}

function guarantee(promise) {
  if (!promise.private) {
    return el("p", { class: "notice bad" }, "NOT PRIVATE: the noise came from a seed. For experiments only; do not publish.");
  }
  const pure = promise.delta === 0;
  return el("p", {},
    "Whatever anyone computes from this release, it looks nearly the same if ",
    el("strong", {}, FOLDS[promise.neighbours] ?? "one person differs"),
    `: no outcome becomes more than ${brief(Math.exp(promise.epsilon), 3)} times as likely (ε = ${brief(promise.epsilon)})`,
    pure ? "." : `, but for a chance of ${brief(promise.delta)} (δ).`);
}

/** The attacker's best test of a person, by how many false alarms the reader allows. */
function riskCurve(promise) {
  const curve = promise.curve.map(([rate, power]) => ({ rate, power }));
  const figure = el("div", { class: "figure" }), words = el("p", { "aria-live": "polite" });
  const slider = el("input", { type: "range", min: 0, max: curve.length - 1, value: nearestRate(curve, 0.05), id: "rate", oninput: () => draw() });
  function draw() {
    const at = curve[Number(slider.value)];
    slider.setAttribute("aria-valuetext", `${percent(at.rate, 2)} false alarms`);
    words.replaceChildren(
      "Suppose somebody knows every other row, suspects one person, and may be wrong about ",
      el("strong", {}, percent(at.rate, at.rate < 0.01 ? 2 : 1)), " of the innocent. They find a person who is in the table in at most ",
      el("strong", {}, percent(at.power, at.power < 0.1 ? 2 : 1)), " of cases; by guessing alone, in ", percent(at.rate, at.rate < 0.01 ? 2 : 1), ".");
    figure.replaceChildren(chart({
      width: 460, height: 260, marginTop: 26, marginLeft: 44, marginBottom: 38,
      x: { label: "wrongly accused →", type: "log", domain: [1e-4, 1], ticks: [1e-4, 1e-3, 0.01, 0.1, 1], tickFormat: (rate) => `${+(100 * rate).toPrecision(3)}%` },
      y: { label: "↑ found", domain: [0, 1], ticks: 5, tickFormat: (power) => `${Math.round(100 * power)}%`, grid: true },
      marks: [
        Plot.areaY(curve, { x: "rate", y1: "rate", y2: "power", fill: BLUE, fillOpacity: 0.16 }),
        Plot.line(curve, { x: "rate", y: "rate", stroke: SOFT, strokeDasharray: "4 3" }),
        Plot.line(curve, { x: "rate", y: "power", stroke: BLUE, strokeWidth: 2.2 }),
        Plot.ruleX([at.rate], { stroke: INK, strokeOpacity: 0.45 }),
        Plot.dot([at], { x: "rate", y: "power", fill: BLUE, r: 5 }),
      ],
    }, `An attacker's best chance to find a person, against the share of innocent people accused; at ${percent(at.rate, 2)} it is ${percent(at.power, 2)}`));
  }
  draw();
  return [el("h3", {}, "How much can it tell about a person?"), figure,
    labelled("False alarms that are allowed", slider, "noprint"), words];
}

function nearestRate(curve, wanted) {
  const found = curve.findIndex(({ rate }) => rate >= wanted);
  return found < 0 ? curve.length - 1 : found;
}

function citation() {
  const name = short(DATA.title, 200), key = DATA.seals.key === null ? "" : ` Signed by key ${DATA.seals.key}.`;
  return `Synthetic rows in place of “${name}”, ${whole(DATA.synthetic_rows)} rows. ${short(DATA.promise.headline, 300)}. `
    + `kernelease ${short(DATA.promise.version, 20)}.${key}`;
}
