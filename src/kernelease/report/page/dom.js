/* Elements, and text that stays text. */

const DATA = JSON.parse(document.getElementById("data").textContent);

/* Characters that draw nothing, or turn the direction of what follows: shown as a mark. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text from a publisher, as it may stand in a page. */
function shown(text) {
  return String(text).replace(UNSEEN, "\ufffd");
}

/** The same, cut to a number of characters. */
function short(text, most = 28) {
  const letters = Array.from(shown(text));
  return letters.length <= most ? letters.join("") : `${letters.slice(0, most - 1).join("")}…`;
}

/** An element with attributes (or on… listeners) and children; strings become text. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A name from the publisher: its own direction, and the whole of it on demand. */
function named(text, most = 40) {
  const whole = shown(text), cut = short(text, most);
  return el("bdi", { class: "named", title: cut === whole ? null : short(text, 2000) }, cut);
}

/** A table from a header and rows of strings or elements. `numeric` tells which columns are aligned to the right. */
function tableOf(caption, header, rows, numeric = () => false, kind = null) {
  const side = (place) => (numeric(place) ? "number" : null);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: [kind, rows.length <= 12 ? "short" : null].filter(Boolean).join(" ") || null },
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, header.map((cell, place) => (cell === "" ? el("td", {}) : el("th", { scope: "col", class: side(place) }, cell))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) =>
        place === 0 ? el("th", { scope: "row" }, cell) : el("td", { class: side(place) }, cell)))))));
}

/** Pairs of a name and what it is. */
function factsOf(pairs) {
  return el("dl", { class: "facts" },
    pairs.filter((pair) => pair).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** A line to copy. */
function copyable(label, text) {
  const copy = el("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 1600);
  } }, "Copy");
  const code = el("code", { tabindex: "0" }, text);
  return el("div", { class: "copyable" }, el("span", { class: "label" }, label), code, copy);
}

let fields = 0;

/** A control with its label. */
function labelled(label, control, kind = "") {
  control.id ||= `field-${++fields}`;
  return el("div", { class: `field ${kind}`.trim() }, el("label", { for: control.id }, label), control);
}

/** A labelled choice. */
function choice(label, options, onchange, chosen) {
  const control = el("select", { onchange: () => onchange(control.value) },
    options.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, text)));
  return { field: labelled(label, control), control };
}
