/* Pictures: plain SVG in the page's colours. Every number of a picture also stands somewhere as text. */

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(name, typeof value === "number" ? Number(value.toFixed(2)) : value);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A drawing of so many units, with words for those who don't see it. It keeps its size, or shrinks with its place. */
function picture(width, height, words, ...children) {
  return draw("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words }, ...children);
}

function said(text) {
  return draw("title", {}, text);
}

function written(x, y, text, anchor = "middle", kind = "tick") {
  return draw("text", { class: kind, x, y, "text-anchor": anchor }, text);
}

function ruled(x1, y1, x2, y2, kind) {
  return draw("line", { class: kind, x1, y1, x2, y2 });
}

/** About how wide a text of 11 units is. */
function roomOf(text) {
  return 6.2 * text.length;
}

/** Ticks that have room beside each other: any that would touch the one before is left out. */
function apart(ticks, gap = 10) {
  let end = -Infinity;
  return ticks.filter(({ x, text }) => {
    const half = roomOf(text) / 2;
    if (x - half < end + gap) return false;
    end = x + half;
    return true;
  });
}

/** Shares on an axis that goes up: lines across, and what they mean. */
function upward(top, left, right, y) {
  return ticksOf(0, top, 4).map((share) => [ruled(left, y(share), right, y(share), share === 0 ? "base" : "across"), written(left - 6, y(share) + 3.5, shareTick(share), "end")]);
}

/** Bars of shares with their intervals, and marks across them; `entries` have atoms, label, value, low, high, text, mark. */
function distribution(column, entries, width, options = {}) {
  return isCelled(column) ? histogram(column, entries, width, options) : valueBars(column, entries, width, options);
}

function tipOf(entry, marked) {
  return said(`${short(entry.label, 60)}: ${entry.little && !Number.isFinite(entry.value) ? "too small to tell" : shareText(entry)}${Number.isFinite(entry.mark) && marked ? `; ${marked} ${percent(entry.mark, 2)}` : ""}`);
}

/** Cells as wide as they are, their area being the share. Points at the ends, and NULL, stand beside the axis. */
function histogram(column, entries, width, { height = 190, marked = "synthetic rows", chosen = null, words = "", trim = null } = {}) {
  const axis = axisOf(column, trim), missing = entries.findIndex(({ atoms }) => isNull(column, atoms[0]));
  const [left, bottom, point, gap] = [44, 22, 7, 4], nullRoom = missing < 0 ? 0 : 44;
  const from = left + (axis.points.low ? point + gap : 0), to = width - 6 - nullRoom - (axis.points.high ? point + gap : 0);
  const x = (value) => from + axis.at(value) * (to - from);
  const places = entries.map(({ atoms }, place) => {
    if (place === missing) return [width - 6 - nullRoom / 2 - 9, width - 6 - nullRoom / 2 + 9];
    const [first, last] = [atoms[0], atoms.filter((atom) => !isNull(column, atom)).at(-1)];
    if (axis.points.low && last < axis.first) return [left, left + point];
    if (axis.points.high && first > axis.last) return [to + gap, to + gap + point];
    return [x(edgesOf(column, Math.max(first, axis.first))[0]), x(edgesOf(column, Math.min(last, axis.last))[1])];
  });
  const inside = entries.map((_, place) => place !== missing && places[place][0] >= from - 0.01 && places[place][1] <= to + 0.01);
  const widths = places.map(([start, end]) => Math.max(0.5, end - start)), usual = [...widths.filter((_, place) => inside[place])].sort((one, other) => one - other);
  const middling = usual[Math.floor(usual.length / 2)] ?? point, even = usual.length === 0 || usual.at(-1) < 1.35 * usual[0];
  const dense = entries.map((entry, place) => (inside[place] && Number.isFinite(entry.value) ? entry.value / widths[place] : 0)), peak = dense.indexOf(Math.max(...dense, 0));
  const typical = peak >= 0 && middling * dense[peak] > 1 ? widths[peak] : middling; /* so that no share is above 100 % */
  const scale = (place) => (inside[place] && !even ? typical / widths[place] : 1);
  const unit = even || axis.log ? "" : cellWidth(column, typical, places, entries, inside), top = unit === "" ? 10 : 24;
  const highs = entries.map((entry, place) => Math.max(Number.isFinite(entry.value) ? entry.high : 0, entry.mark || 0) * scale(place));
  const inner = Math.max(...highs.filter((_, place) => inside[place]), 0), all = Math.max(...highs, 1e-9);
  const most = inner > 0 && all > 2.5 * inner ? inner * 1.25 : all * 1.04, floor = height - bottom;
  const y = (share) => floor - (Math.min(share, most) / most) * (floor - top);
  const bars = entries.map((entry, place) => {
    const [start, end] = places[place], size = (part) => (Number.isFinite(part) ? part * scale(place) : 0), middle = (start + end) / 2, thin = widths[place] > 3 ? 0.6 : 0;
    const over = size(entry.value) > most, kind = chosen === null || chosen.has(place) ? "bar" : "bar off";
    return draw("g", {}, tipOf(entry, marked),
      draw("rect", { class: kind, x: start + thin, width: Math.max(0.8, end - start - 2 * thin), y: y(size(entry.value)), height: floor - y(size(entry.value)) }),
      over ? [draw("rect", { class: "break", x: start - 1, width: end - start + 2, y: top + 14, height: 3 }), written(clip(middle, [left + 10, width - 20]), top - 1, shareTick(Number(entry.value.toFixed(3))), "middle", "tick strong")]
        : Number.isFinite(entry.value) && entry.low <= entry.high ? ruled(middle, y(size(entry.low)), middle, y(size(entry.high)), widths[place] < 6 ? "whisker thin" : "whisker") : null,
      Number.isFinite(entry.mark) && !over ? ruled(start, y(size(entry.mark)), end, y(size(entry.mark)), "mark") : null);
  });
  const ticks = apart(axis.ticks(Math.max(2, Math.floor((to - from) / 36))).map(({ at, text }) => ({ x: x(at), text })).filter((tick) => tick.x >= from - 1 && tick.x <= to + 1 && (missing < 0 || tick.x + roomOf(tick.text) / 2 < width - 6 - nullRoom / 2 - 18)));
  return picture(width, height, `${short(column.name)}: ${words || "share of rows by value, with 95 % intervals"}`,
    upward(most, left, to + (axis.points.high ? gap + point : 0), y), bars,
    ticks.map(({ x: at, text }) => [ruled(at, floor, at, floor + 4, "base"), written(at, height - 6, text)]),
    missing < 0 ? null : [ruled(places[missing][0] - 6, floor, places[missing][1] + 6, floor, "base"), written((places[missing][0] + places[missing][1]) / 2, height - 6, "NULL")],
    unit === "" ? null : written(4, 11, unit, "start"));
}

/** What the height of bars means where cells have several widths. */
function cellWidth(column, typical, places, entries, inside) {
  const place = places.findIndex(([start, end], at) => inside[at] && Math.abs(end - start - typical) < 1e-6);
  if (place < 0) return "";
  const known = entries[place].atoms, [low, high] = edgesOf(column, known[0], known.at(-1));
  if (["date", "datetime"].includes(column.type)) return "";
  return `share of rows per ${tickText(Number((high - low).toPrecision(2)))}`;
}

const MOST_BARS = 16; /* of a column of values that are listed: the others are in a line below, and on demand */

/** One bar below the other for each value, the most frequent ones where they are many; NULL comes last. */
function valueBars(column, entries, width, { marked = "synthetic rows", chosen = null, most = MOST_BARS, words = "" } = {}) {
  const missing = entries.filter(({ atoms }) => isNull(column, atoms[0])), known = entries.filter((entry) => !missing.includes(entry));
  const kept = known.length <= most ? known : [...known].sort((one, other) => (other.value || 0) - (one.value || 0)).slice(0, most);
  const shown = [...(column.ordered ? known.filter((entry) => kept.includes(entry)) : kept), ...missing];
  const texts = shown.map((entry) => short(entry.label, Math.max(8, Math.floor(width * 0.06))));
  const left = Math.min(width * 0.42, Math.max(40, 12 + Math.max(...texts.map(roomOf)))), [line, top, right] = [19, 4, 18];
  const height = top + line * shown.length + (missing.length ? 6 : 0) + 20, floor = height - 20;
  const top_ = Math.max(...shown.map((entry) => Math.max(Number.isFinite(entry.value) ? entry.high : 0, entry.mark || 0)), 1e-9) * 1.02;
  const x = (share) => left + (Math.min(share, top_) / top_) * (width - left - right);
  const bars = shown.map((entry, row) => {
    const y = top + line * row + (missing.includes(entry) ? 6 : 0), place = entries.indexOf(entry), clear = Number.isFinite(entry.value);
    return draw("g", {}, tipOf(entry, marked),
      written(left - 7, y + 13, texts[row], "end", "value"),
      draw("rect", { class: chosen === null || chosen.has(place) ? "bar" : "bar off", x: left, width: clear ? x(entry.value) - left : 0, y: y + 3, height: line - 6 }),
      clear ? ruled(x(entry.low), y + line / 2, x(entry.high), y + line / 2, "whisker") : written(left + 4, y + 13, "too small to tell", "start"),
      Number.isFinite(entry.mark) ? ruled(x(entry.mark), y + 1, x(entry.mark), y + line - 1, "mark") : null);
  });
  const ticks = apart(ticksOf(0, top_, Math.max(2, Math.floor((width - left) / 55))).map((share) => ({ x: x(share), text: shareTick(share), share })));
  return picture(width, height, `${short(column.name)}: ${words || "share of rows by value, with 95 % intervals"}`,
    ticks.map(({ x: at, share }) => ruled(at, top, at, floor, share === 0 ? "base" : "across")), bars,
    ticks.map(({ x: at, text }) => written(at, height - 5, text)));
}

/** How many values a picture of so many bars leaves out. */
function leftOut(column, entries, most = MOST_BARS) {
  const known = entries.filter(({ atoms }) => !isNull(column, atoms[0]));
  return isCelled(column) || known.length <= most ? 0 : known.length - most;
}

/** Estimates with their intervals, one below the other. */
function dots(entries, width, words, tick = tickText) {
  const clear = entries.filter(({ value, low, high }) => [value, low, high].every(Number.isFinite));
  if (clear.length === 0) return null;
  const [low, high] = [Math.min(...clear.map((entry) => entry.low)), Math.max(...clear.map((entry) => entry.high))];
  const texts = entries.map((entry) => short(entry.label ?? "", Math.max(8, Math.floor(width * 0.05))));
  const left = Math.min(width * 0.42, 14 + Math.max(...texts.map(roomOf))), [line, top] = [18, 4], height = top + line * entries.length + 22, floor = height - 20;
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - 18);
  const ticks = apart(ticksOf(low, high, Math.max(2, Math.floor((width - left) / 70))).map((value) => ({ x: x(value), text: tick(value) })));
  return picture(width, height, words, ticks.map(({ x: at }) => ruled(at, top, at, floor, "across")),
    entries.map((entry, row) => draw("g", {}, said(`${short(entry.label ?? "", 60)}: ${entry.text}`), written(left - 7, top + line * row + 13, texts[row], "end", "value"),
      clear.includes(entry) ? [ruled(x(entry.low), top + line * row + 9, x(entry.high), top + line * row + 9, "whisker"), draw("circle", { class: "dot", cx: x(entry.value), cy: top + line * row + 9, r: 4 })] : null)),
    ticks.map(({ x: at, text }) => written(at, height - 5, text)));
}

/** What the marks of a distribution mean. */
function key(marked = "the synthetic rows") {
  return el("p", { class: "key" }, sign("estimate", "estimate from the noisy counts, with its 95 % interval"), marked === null ? null : sign("rows", marked));
}

function sign(kind, text) {
  return el("span", {}, el("span", { class: `swatch ${kind}` }), text);
}

/** How wide a picture may be, in its container or before it stands in one. */
function roomIn(container, fallback = 380) {
  return Math.max(250, Math.min(container.clientWidth || fallback, 1100));
}
