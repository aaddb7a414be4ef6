// The locale's part of the language, which the engine has not: `toLocaleString` and its kin,
// `Intl`. Only en-US, and dates in UTC; graphemes. Whatever else is asked for is refused by
// name: a form that differs from Node's would be a wrong verdict that nobody sees.
(function (host) {
  "use strict";
  const { refuse, define, graphemes, wellFormed } = host;
  const text = (value) => (typeof value === "string" ? `'${value}'` : String(value));

  const english = (what, locales) => {
    const first = Array.isArray(locales) ? locales[0] : locales;
    if (first !== undefined && !/^en(-US)?$/i.test(String(first))) refuse(`${what}(${text(first)})`);
  };
  // The option `name`: one of `known`, or undefined; another one is refused.
  const option = (what, options, name, known) => {
    const value = options[name];
    if (value !== undefined && !known.includes(value)) refuse(`${what} with ${name}: ${text(value)}`);
    return value;
  };
  const taken = (options) => (options === undefined ? {} : Object(options));
  const locales = (target) =>
    define(target, "supportedLocalesOf", (asked) =>
      [asked ?? []].flat().filter((locale) => /^en(-US)?$/i.test(locale)));

  // --- Numbers. Currencies: their sign and digits after the point.
  const CURRENCIES = {
    USD: ["$", 2], EUR: ["€", 2], GBP: ["£", 2], JPY: ["¥", 0], INR: ["₹", 2], CAD: ["CA$", 2],
  };
  const ONLY = {
    notation: ["standard"], currencyDisplay: ["symbol", "narrowSymbol"], currencySign: ["standard"],
    roundingMode: ["halfExpand"], roundingPriority: ["auto"], roundingIncrement: [1],
    trailingZeroDisplay: ["auto"], numberingSystem: ["latn"],
    signDisplay: ["auto", "always", "never", "exceptZero", "negative"],
    useGrouping: [true, false, "always", "auto", "min2", "true", "false"],
    style: ["decimal", "percent", "currency"],
  };

  const limit = (options, name, least, most) => {
    const value = options[name];
    if (value === undefined) return undefined;
    const number = Math.floor(Number(value));
    if (!(number >= least && number <= most)) throw new RangeError(`${name} value is out of range.`);
    return number;
  };

  const numberOptions = (what, given) => {
    const options = taken(given);
    const read = { sign: "auto", grouping: "auto", style: "decimal", currency: undefined };
    for (const [name, known] of Object.entries(ONLY)) option(what, options, name, known);
    read.style = options.style ?? "decimal";
    read.sign = options.signDisplay ?? "auto";
    read.grouping = options.useGrouping ?? "auto";
    let [low, high] = read.style === "decimal" ? [0, 3] : [0, 0];
    if (read.style === "currency") {
      if (options.currency === undefined) {
        throw new TypeError("Currency code is required with currency style.");
      }
      read.currency = String(options.currency).toUpperCase();
      const known = CURRENCIES[read.currency];
      if (!known) refuse(`${what} with currency: ${text(options.currency)}`);
      low = high = known[1];
    }
    read.integers = limit(options, "minimumIntegerDigits", 1, 21) ?? 1;
    const least = limit(options, "minimumFractionDigits", 0, 100);
    const most = limit(options, "maximumFractionDigits", 0, 100);
    read.least = least ?? Math.min(low, most ?? low);
    read.most = most ?? Math.max(high, read.least);
    const significant = limit(options, "minimumSignificantDigits", 1, 21);
    const mostSignificant = limit(options, "maximumSignificantDigits", significant ?? 1, 21);
    if (significant !== undefined || mostSignificant !== undefined) {
      read.significant = [significant ?? 1, mostSignificant ?? 21];
    } else if (least > most) {
      throw new RangeError("maximumFractionDigits value is out of range.");
    }
    return read;
  };

  // A number at or above zero as `digits / 10 ** scale`, from its shortest decimal form.
  const decimal = (number) => {
    const [digits, exponent = "0"] = String(number).split("e");
    const [whole, fraction = ""] = digits.split(".");
    let scale = fraction.length - Number(exponent);
    let value = BigInt(whole + fraction);
    if (scale < 0) [value, scale] = [value * 10n ** BigInt(-scale), 0];
    return [value, scale];
  };
  // Half away from zero; `places` may be negative.
  const rounded = ([value, scale], places) => {
    if (scale <= places) return [value, scale];
    const unit = 10n ** BigInt(scale - places);
    const units = (value + unit / 2n) / unit;
    return places < 0 ? [units * 10n ** BigInt(-places), 0] : [units, places];
  };

  const magnitude = (number, read) => {
    let [value, scale] = decimal(number);
    if (read.style === "percent") [value, scale] = scale > 2 ? [value, scale - 2] : [value * 100n, scale];
    let least = read.least;
    if (read.significant) {
      const places = scale - (String(value).length - read.significant[1]);
      [value, scale] = rounded([value, scale], places);
      const lead = value === 0n ? 1 : String(value).length - scale;
      least = Math.max(0, read.significant[0] - lead);
    } else {
      [value, scale] = rounded([value, scale], read.most);
    }
    const digits = String(value).padStart(scale + 1, "0");
    const cut = digits.length - scale;
    const fraction = digits.slice(cut).replace(/0+$/, "").padEnd(least, "0");
    let whole = digits.slice(0, cut).padStart(read.integers, "0");
    const groups = read.grouping !== false && !(read.grouping === "min2" && whole.length < 5);
    if (groups) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return [fraction ? `${whole}.${fraction}` : whole, value === 0n];
  };

  const number = (given, read) => {
    const value = typeof given === "bigint" ? given : Number(given);
    const negative = value < 0 || Object.is(value, -0);
    let [shown, zero] = ["NaN", true];
    if (value === Infinity || value === -Infinity) [shown, zero] = ["∞", false];
    else if (value === value) [shown, zero] = magnitude(negative ? -value : value, read);
    if (read.style === "percent") shown += "%";
    if (read.currency) shown = CURRENCIES[read.currency][0] + shown;
    const minus = { auto: true, always: true, never: false, exceptZero: !zero, negative: !zero };
    const plus = { always: true, exceptZero: !zero };
    if (negative) return minus[read.sign] ? `-${shown}` : shown;
    return plus[read.sign] ? `+${shown}` : shown;
  };

  class NumberFormat {
    #read;
    constructor(asked, options) {
      english("Intl.NumberFormat", asked);
      this.#read = numberOptions("Intl.NumberFormat", options);
      const read = this.#read;
      define(this, "format", (value) => number(value, read));
    }
    resolvedOptions() {
      const { style, currency, least, most, integers } = this.#read;
      const options = { locale: "en-US", numberingSystem: "latn", style, minimumIntegerDigits: integers };
      if (currency) options.currency = currency;
      return { ...options, minimumFractionDigits: least, maximumFractionDigits: most };
    }
    formatToParts() { refuse("Intl.NumberFormat.formatToParts"); }
    formatRange() { refuse("Intl.NumberFormat.formatRange"); }
  }
  const localeNumber = function (asked, options) {
    english("toLocaleString", asked);
    return number(this.valueOf(), numberOptions("toLocaleString", options));
  };
  define(Number.prototype, "toLocaleString", localeNumber);
  define(BigInt.prototype, "toLocaleString", localeNumber);
  define(Array.prototype, "toLocaleString", function (...how) {
    return Array.from(this, (item) => (item == null ? "" : item.toLocaleString(...how))).join(",");
  });

  // --- Dates.
  const MONTHS = ("January February March April May June July August September October November " +
    "December").split(" ");
  const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
  const NUMERIC = ["numeric", "2-digit"];
  const FIELDS = {
    weekday: ["long", "short", "narrow"], year: NUMERIC, month: [...NUMERIC, "long", "short"],
    day: NUMERIC, hour: NUMERIC, minute: NUMERIC, second: NUMERIC,
    fractionalSecondDigits: [1, 2, 3], timeZoneName: ["short", "long"],
    hourCycle: ["h12", "h23", "h24"], hour12: [true, false], calendar: ["gregory"],
    numberingSystem: ["latn"], era: [], dayPeriod: [],
    dateStyle: ["full", "long", "medium", "short"], timeStyle: ["full", "long", "medium", "short"],
  };
  const DATE_STYLES = {
    full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
    long: { year: "numeric", month: "long", day: "numeric" },
    medium: { year: "numeric", month: "short", day: "numeric" },
    short: { year: "2-digit", month: "numeric", day: "numeric" },
  };
  const TIME = { hour: "numeric", minute: "2-digit", second: "2-digit" };
  const TIME_STYLES = {
    full: { ...TIME, timeZoneName: "long" }, long: { ...TIME, timeZoneName: "short" },
    medium: TIME, short: { hour: "numeric", minute: "2-digit" },
  };

  // The fields to show. `required` and `defaults` as the standard has them.
  const dateOptions = (what, given, required, defaults) => {
    const options = taken(given);
    let read = {};
    for (const [name, known] of Object.entries(FIELDS)) {
      const value = option(what, options, name, known);
      if (value !== undefined) read[name] = value;
    }
    const zone = options.timeZone;
    if (zone !== undefined && !/^(etc\/)?(utc|gmt)$/i.test(zone)) refuse(`${what} with timeZone: ${text(zone)}`);
    if (zone !== undefined && !/utc$/i.test(zone) && read.timeZoneName) {
      refuse(`${what} with timeZone: ${text(zone)} and timeZoneName`);
    }
    const has = (...names) => names.some((name) => read[name] !== undefined);
    const { dateStyle, timeStyle } = read;
    if (dateStyle || timeStyle) {
      const fields = has("weekday", "year", "month", "day", "hour", "minute", "second",
        "fractionalSecondDigits", "timeZoneName");
      if (fields || (required === "date" && timeStyle) || (required === "time" && dateStyle)) {
        throw new TypeError("Can't set option when dateStyle or timeStyle is used");
      }
      read = { ...read, ...DATE_STYLES[dateStyle], ...TIME_STYLES[timeStyle] };
    } else if (
      !(required !== "time" && has("weekday", "year", "month", "day")) &&
      !(required !== "date" && has("hour", "minute", "second", "fractionalSecondDigits"))
    ) {
      if (defaults !== "time") read = { ...read, year: "numeric", month: "numeric", day: "numeric" };
      if (defaults !== "date") read = { ...read, hour: "numeric", minute: "numeric", second: "numeric" };
    }
    fits(what, read);
    return read;
  };

  const cycleOf = (read) => (read.hour12 === undefined ? read.hourCycle : read.hour12 ? "h12" : "h24");
  const hours24 = (read) => !["h12", undefined].includes(cycleOf(read));

  // Refuses combinations for which English has no form that people write.
  const fits = (what, read) => {
    const { weekday, year, month, day, hour, minute, second } = read;
    const odd =
      (weekday && (year || month || day) && !(month && day)) ||
      (year && day && !month) ||
      (hour && second && !minute) ||
      (read.fractionalSecondDigits && !(second && minute)) ||
      (read.timeZoneName && !hour && !(year && day && NUMERIC.includes(month))) ||
      (weekday && !day && hour &&
        (read.timeZoneName || read.fractionalSecondDigits || (hours24(read) && !minute))) ||
      (hour && !minute && hours24(read) && read.timeZoneName) ||
      ((minute || second) && !hour && (weekday || year || month || day));
    const fields = Object.keys(read).filter((name) => !/12|Cycle|calendar|System/.test(name));
    if (odd) refuse(`${what} with only ${fields.join(", ")}`);
  };

  // Before AM and PM, where parts are asked for; in whole texts Node has a plain blank.
  const NARROW = "\u202f";
  const two = (value) => String(value).padStart(2, "0");
  const literal = (value) => ({ type: "literal", value });

  const dateParts = (date, read) => {
    const { weekday, year, month, day } = read;
    const era = date.getUTCFullYear();
    const shownYear = era > 0 ? era : 1 - era;
    const shown = {
      weekday: () => DAYS[date.getUTCDay()].slice(0, { long: 9, short: 3, narrow: 1 }[weekday]),
      year: () => (year === "2-digit" ? two(shownYear % 100) : String(shownYear)),
      day: () => (day === "2-digit" ? two(date.getUTCDate()) : String(date.getUTCDate())),
      month: () => {
        const at = date.getUTCMonth();
        if (month === "long") return MONTHS[at];
        if (month === "short") return MONTHS[at].slice(0, 3);
        return month === "2-digit" ? two(at + 1) : String(at + 1);
      },
    };
    const parts = [];
    const put = (type, before) => {
      if (!read[type]) return;
      if (parts.length) parts.push(literal(before));
      parts.push({ type, value: shown[type]() });
    };
    const words = month === "long" || month === "short";
    put("weekday", "");
    put("month", ", ");
    put("day", words ? " " : parts.length && !month ? " " : "/");
    put("year", words ? (day ? ", " : " ") : "/");
    return parts;
  };

  const timeParts = (date, read) => {
    const { hour, minute, second, fractionalSecondDigits: fraction } = read;
    const at = date.getUTCHours();
    const cycle = cycleOf(read);
    const twelve = !hours24(read);
    const parts = [];
    if (hour) {
      let value = two(cycle === "h24" && at === 0 ? 24 : at);
      if (twelve) value = String(at % 12 || 12).padStart(hour === "2-digit" ? 2 : 1, "0");
      parts.push({ type: "hour", value });
    }
    if (minute) {
      if (parts.length) parts.push(literal(":"));
      const value = date.getUTCMinutes();
      parts.push({ type: "minute", value: hour || second ? two(value) : String(value) });
    }
    if (second) {
      if (parts.length) parts.push(literal(":"));
      const value = date.getUTCSeconds();
      parts.push({ type: "second", value: minute ? two(value) : String(value) });
    }
    if (fraction) {
      const value = String(date.getUTCMilliseconds()).padStart(3, "0").slice(0, fraction);
      parts.push(literal("."), { type: "fractionalSecond", value });
    }
    if (hour && twelve) parts.push(literal(NARROW), { type: "dayPeriod", value: at < 12 ? "AM" : "PM" });
    return parts;
  };

  const allParts = (date, read) => {
    const [day, time] = [dateParts(date, read), timeParts(date, read)];
    const parts = [...day];
    if (day.length && time.length) {
      const alone = read.weekday && !read.day;
      parts.push(literal(alone ? " " : read.month === "long" ? " at " : ", "));
    }
    parts.push(...time);
    if (read.timeZoneName) {
      const value = read.timeZoneName === "long" ? "Coordinated Universal Time" : "UTC";
      parts.push(literal(time.length ? " " : ", "), { type: "timeZoneName", value });
    }
    return parts;
  };
  const shownDate = (date, read) =>
    allParts(date, read).map((part) => (part.value === NARROW ? " " : part.value)).join("");

  class DateTimeFormat {
    #read;
    constructor(asked, options) {
      english("Intl.DateTimeFormat", asked);
      this.#read = dateOptions("Intl.DateTimeFormat", options, "any", "date");
      define(this, "format", (date) => shownDate(this.#date(date), this.#read));
    }
    #date(given) {
      const date = given === undefined ? new Date() : new Date(given);
      if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
      return date;
    }
    formatToParts(date) { return allParts(this.#date(date), this.#read); }
    resolvedOptions() {
      const fixed = { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: "UTC" };
      return { ...fixed, ...this.#read };
    }
    formatRange() { refuse("Intl.DateTimeFormat.formatRange"); }
  }
  for (const [name, required, defaults] of [
    ["toLocaleString", "any", "all"], ["toLocaleDateString", "date", "date"],
    ["toLocaleTimeString", "time", "time"],
  ]) {
    define(Date.prototype, name, function (asked, options) {
      english(name, asked);
      const read = dateOptions(name, options, required, defaults);
      return Number.isNaN(this.getTime()) ? "Invalid Date" : shownDate(this, read);
    });
  }

  // --- Letters that some languages change in a way of their own.
  for (const name of ["toLocaleUpperCase", "toLocaleLowerCase"]) {
    const plain = String.prototype[name];
    define(String.prototype, name, function (asked) {
      const first = Array.isArray(asked) ? asked[0] : asked;
      if (/^(tr|az|lt|el)\b/i.test(first ?? "")) refuse(`${name}(${text(first)})`);
      return Reflect.apply(plain, this, []);
    });
  }

  // --- Graphemes, which are the same in every language. Words and sentences need dictionaries.
  class Segments {
    #input;
    constructor(input) { this.#input = input; }
    *[Symbol.iterator]() {
      const input = this.#input;
      let index = 0;
      for (const length of graphemes(wellFormed(input))) {
        yield { segment: input.slice(index, index + length), index, input };
        index += length;
      }
    }
    containing(asked) {
      const at = Math.trunc(Number(asked)) || 0;
      if (at < 0) return undefined;
      for (const one of this) if (at < one.index + one.segment.length) return one;
      return undefined;
    }
  }
  class Segmenter {
    constructor(_, options) {
      option("Intl.Segmenter", taken(options), "granularity", ["grapheme"]);
    }
    segment(input) { return new Segments(String(input)); }
    resolvedOptions() { return { locale: "en-US", granularity: "grapheme" }; }
  }

  const Intl = {};
  locales(Segmenter);
  define(Intl, "Segmenter", Segmenter);
  for (const kind of [NumberFormat, DateTimeFormat]) {
    locales(kind);
    define(Intl, kind.name, new Proxy(kind, { apply: (Kind, _, how) => new Kind(...how) }));
  }
  for (const name of [
    "RelativeTimeFormat", "DisplayNames", "Locale", "DurationFormat", "ListFormat", "PluralRules",
    "getCanonicalLocales", "supportedValuesOf",
  ]) {
    define(Intl, name, function () { refuse(`Intl.${name}`); });
  }
  Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
  define(globalThis, "Intl", Intl);
  Object.assign(host, { option, taken });
})
