/* The page: its panels as tabs, each made when it is first looked at. */

const PANELS = [
  ...(DATA.comparison === undefined ? [] : [["compare", "Compared", comparePanel]]),
  ["what", "What is this?", overviewPanel],
  ...(DATA.columns.length === 0 ? [["points", "Points", pointsPanel], ["rows", "Rows", rowsPanel]] : [
    ["columns", "Columns", columnsPanel],
    ["pairs", "Pairs", pairsPanel],
    ["ask", "Ask", askPanel],
    ["rows", "Rows against answers", rowsPanel],
  ]),
  ["officer", "For the officer", officerPanel],
  ...(DATA.owner === undefined ? [] : [["owner", "For the owner only", ownerPanel]]),
];
const PRIVATE = DATA.owner !== undefined;

function openPanel(name, focus = false) {
  for (const [other] of PANELS) {
    const [tab, panel] = [document.getElementById(`tab-${other}`), document.getElementById(`panel-${other}`)];
    const chosen = other === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    panel.classList.toggle("current", chosen);
    if (chosen && focus) tab.focus();
  }
  fill(name);
}

/** Make what a panel shows, once. */
function fill(name) {
  const panel = document.getElementById(`panel-${name}`), [, , make] = PANELS.find(([other]) => other === name);
  if (panel.childElementCount > 0) return;
  panel.append(...(PRIVATE ? [el("p", { class: "private" }, "private: do not publish this page")] : []), ...make().flat(Infinity).filter((part) => part !== null));
  if (name === "what") showSeals();
  if (name === "columns") showColumns();
  if (name === "points" && document.getElementById("point-picture") !== null) showPoints();
  if (name === "pairs" && DATA.pairs.length > 0) {
    showPairs();
    showPair(document.getElementById("pair"), pairsView.chosen);
    showFilter();
  }
  if (name === "ask") ask();
  if (name === "compare" || name === "owner") panel.querySelectorAll(".card").forEach(whenSeen);
}

/** The panel that the address names, and the question in it. */
function fromAddress() {
  const name = location.hash.slice(1).split("?")[0], question = name === "ask" && DATA.columns.length > 0 ? questionIn(location.hash) : null;
  openPanel(PANELS.some(([other]) => other === name) ? name : PANELS[0][0]);
  if (question !== null) {
    setAsked(question);
    ask();
  }
}

function start() {
  document.getElementById("title").replaceChildren(named(DATA.title, 80));
  document.getElementById("headline").textContent = shown(DATA.promise.words);
  document.getElementById("worth").textContent = unbroken(shown(worthSentence()));
  document.getElementById("print").textContent = unbroken(smallPrint(DATA.promise)).replaceAll(" = ", `${HARD}=${HARD}`);
  document.getElementById("colophon").textContent = `Made by kernelease ${DATA.version}. This file is complete: it fetches nothing and sends nothing.`;
  document.body.classList.toggle("is-private", PRIVATE);
  const [tabs, main] = [document.getElementById("tabs"), document.getElementById("main")];
  for (const [name, title] of PANELS) {
    tabs.append(el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => { history.replaceState(null, "", `#${name}`); openPanel(name); } }, title));
    main.append(el("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}` }));
  }
  tabs.addEventListener("keydown", (event) => {
    const now = PANELS.findIndex(([name]) => document.getElementById(`tab-${name}`).getAttribute("aria-selected") === "true");
    const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: PANELS.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    openPanel(PANELS[(next + PANELS.length) % PANELS.length][0], true);
  });
  addEventListener("hashchange", fromAddress);
  addEventListener("beforeprint", () => ["what", "officer"].forEach(fill));
  fill("what"); /* its checks say whether anything here can be relied on */
  fromAddress();
}

start();
