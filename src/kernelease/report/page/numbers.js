/* Numbers as the command line prints them, and as people write them beside an axis. */

/** With a number of decimals and commas between thousands. What is exactly between two is rounded to the even one. */
function fixed(value, digits) {
  const size = Math.abs(value), scaled = size * 10 ** digits, below = Math.floor(scaled);
  const tie = scaled - below === 0.5 && scaled / 10 ** digits === size;
  const [whole, rest] = (tie ? (below + (below % 2)) / 10 ** digits : size).toFixed(digits).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (value < 0 || Object.is(value, -0) ? "-" : "") + (rest === undefined ? grouped : `${grouped}.${rest}`);
}

/** Four significant digits, without an exponent where one can do without. */
function brief(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1e4 && Math.abs(value) < 1e15) return fixed(value, 0);
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(digits)));
}

function whole(value) {
  return value === null ? "–" : fixed(value, 0);
}

function percent(share, digits = 1) {
  return share === null || !Number.isFinite(share) ? "–" : `${(100 * share).toFixed(digits)}${HARD}%`;
}

const HARD = "\u00a0"; /* a space at which no line ends */

/** A sentence in which no line ends within a number, before its unit, or after a ±. */
function unbroken(text) {
  return text.replace(/ ± /g, `${HARD}±${HARD}`).replace(/(?<=[\d.)]) (?=%|rows?\b)/g, HARD).replace(/(?<=±) (?=\d)/g, HARD);
}

/** As many decimals as show two digits of a margin. */
function decimals(margin) {
  return margin > 0 ? Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(margin)))) : 0;
}

/** As many decimals as a number has by itself. */
function ownDecimals(value) {
  return (value.toFixed(12).replace(/0+$/, "").split(".")[1] ?? "").length;
}

/** A value and half the length of its interval, or both ends where these are not alike. */
function estimateText(value, low, high) {
  const below = value - low, above = high - value;
  if (Number.isNaN(value)) return Number.isFinite(high - low) && low < high ? `unknown (${brief(low)} to ${brief(high)})` : "unknown";
  if (!Number.isFinite(below) || !Number.isFinite(above)) return `${brief(value)} (not bounded)`;
  const margin = Math.max(below, above), own = Math.max(...[value, low, high].map(ownDecimals)), digits = margin > 0 ? Math.min(own, decimals(margin)) : own;
  if (Math.abs(below - above) <= 0.1 * margin) return `${fixed(value, digits)} ± ${fixed(margin, digits)}`;
  return `${fixed(value, digits)} (${fixed(low, digits)} to ${fixed(high, digits)})`;
}

/** A share and its interval in percent. */
function shareText({ value, low, high }) {
  if (!Number.isFinite(value)) return "unknown";
  const margin = 100 * Math.max(value - low, high - value), digits = Math.min(3, decimals(margin));
  if (Math.abs(value - low - (high - value)) <= 0.1 * (margin / 100)) return `${fixed(100 * value, digits)} % ± ${fixed(margin, digits)}`;
  return `${fixed(100 * value, digits)} % (${fixed(100 * low, digits)} to ${fixed(100 * high, digits)})`;
}

/** An estimate of the library: value, ends of the interval, whether it says little, what must be known of it. */
function figureOf([value, low, high, little = 0, remark = undefined]) {
  const [number, ends] = [value ?? NaN, [low ?? -Infinity, high ?? Infinity]];
  return { value: number, low: ends[0], high: ends[1], little: little === 1, remark, text: estimateText(number, ...ends) };
}

/** About so many round numbers from one number to another: steps of 1, 2 or 5 times a power of ten. */
function ticksOf(low, high, most, whole = false) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(whole ? 1 : 0, power * [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)));
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => Number(((first + place) * step).toPrecision(12)));
}

/** A number as it stands beside an axis: 0, 10, 0.25, 20,000, 1.5M; a year has no comma. */
function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  return size >= 1e4 ? fixed(value, 0) : String(Number(value.toPrecision(6)));
}

/** A share beside an axis. */
function shareTick(share) {
  return `${Number((100 * share).toPrecision(3))}${HARD}%`;
}

/* ---- Days, counted from 1970, as people write them. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY = 86_400_000;

function partsOf(days) {
  const day = new Date(Math.floor(days) * DAY);
  return { year: day.getUTCFullYear(), month: day.getUTCMonth(), day: day.getUTCDate() };
}

function daysOf(year, month = 0, day = 1) {
  return Date.UTC(year, month, day) / DAY;
}

/** Days from a first to a last one: a year, months, or both days. */
function daysText(first, last) {
  const [one, other, after] = [partsOf(first), partsOf(last), partsOf(last + 1)];
  if (one.day === 1 && after.day === 1) {
    if (one.month === 0 && after.month === 0) return one.year === other.year ? `${one.year}` : `${one.year} to ${other.year}`;
    const start = `${MONTHS[one.month]}${one.year === other.year ? "" : ` ${one.year}`}`;
    return one.year === other.year && one.month === other.month ? `${MONTHS[one.month]} ${one.year}` : `${start} to ${MONTHS[other.month]} ${other.year}`;
  }
  const end = `${other.day} ${MONTHS[other.month]} ${other.year}`;
  return first === last ? end : `${one.day} ${MONTHS[one.month]}${one.year === other.year ? "" : ` ${one.year}`} to ${end}`;
}

/** Where years, months or days begin: about so many of them, each with what to write there. */
function dayTicks(low, high, most) {
  const years = (high - low) / 365.25, from = partsOf(low);
  if (years / most > 0.45) {
    const step = Math.max(1, ticksOf(0, Math.round(years), most, true)[1] ?? 1), found = [], near = (high - low) / 100;
    for (let year = Math.ceil(from.year / step) * step; daysOf(year) <= high; year += step) if (daysOf(year) >= low - near) found.push({ at: Math.max(low, daysOf(year)), text: String(year) });
    return found;
  }
  const months = (high - low) / 30.44, found = [];
  if (months / most > 0.6) {
    const step = [1, 2, 3, 6].find((one) => months / one <= most) ?? 6;
    for (let month = Math.ceil(from.month / step) * step; daysOf(from.year, month) <= high; month += step) {
      const at = daysOf(from.year, month), { year, month: own } = partsOf(at);
      if (at >= low) found.push({ at, text: own === 0 || found.length === 0 ? `${MONTHS[own]} ${year}` : MONTHS[own] });
    }
    return found;
  }
  return ticksOf(low, high, most, true).map((at) => ({ at, text: `${partsOf(at).day} ${MONTHS[partsOf(at).month]}` }));
}

/** A moment, in microseconds from 1970. */
function momentText(micros) {
  const text = new Date(Math.floor(micros / 1000)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, text.slice(17, 19) === "00" ? 16 : 19)}`;
}
