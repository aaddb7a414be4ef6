// Order of text: `localeCompare`, `Intl.Collator`.
//
// The order is that of the Unicode collation algorithm for what English text is made of: blanks,
// punctuation, signs, digits, Latin letters and their accents. First by letters, then by accents,
// then by case. Where two texts differ first in a character whose place is not known here, that is
// an error and no guess.
(function (host) {
  "use strict";
  const { refuse, define, english, option, taken, locales } = host;

  // What is no letter and no digit, in its order.
  const SIGNS = "\t\n\v\f\r\u0085\u2028\u2029 _-‐‒–—―,、;:!¡?¿.。·'‹›\"«»()[]{}§¶@*/\\&#%‰†‡•‣′" +
    "`^°©®←→+±÷×<=>¬|¦~−∞≤≥✓✔¤¢$£¥€";
  // Accents (combining marks), in their order.
  const MARKS = "\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307\u0338\u0327\u0328\u0304";
  // Forms of other characters: which, and how far behind them.
  const FORMS = {
    "‘": ["'", 1], "’": ["'", 2], "‚": ["'", 3], "‛": ["'", 4],
    "“": ["\"", 1], "”": ["\"", 2], "„": ["\"", 3], "‟": ["\"", 4],
    "\u00a0": [" ", 1], "…": ["...", 1], "ß": ["ss", 1],
  };
  const BARRED = { ø: "o\u0338", Ø: "O\u0338" };
  const IGNORED =
    /[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/;
  const DIGITS = 1000;
  const LETTERS = 2000;
  const OTHERS = 3000;

  // A character's place among the first differences: a number, or itself if it has none here.
  const place = (c) => {
    const sign = SIGNS.indexOf(c);
    if (sign >= 0) return sign;
    if (c >= "0" && c <= "9") return DIGITS + c.charCodeAt(0);
    const small = c.toLowerCase();
    if (small >= "a" && small <= "z" && small.length === 1) return LETTERS + small.charCodeAt(0);
    if (c >= "\u4e00" && c <= "\u9fff") return OTHERS + c.codePointAt(0);
    return c;
  };

  // What is compared: for each character its place, its accents, its case.
  const elements = (given, numeric) => {
    const all = [];
    const push = (first, form, upper) => all.push({ first, marks: [], form, upper });
    for (const c of given.normalize("NFD").replace(/[øØ]/g, (c) => BARRED[c])) {
      if (IGNORED.test(c)) continue;
      if (/\p{M}/u.test(c) && all.length) {
        const at = MARKS.indexOf(c);
        all.at(-1).marks.push(at < 0 ? c : at);
      } else if (FORMS[c]) {
        const [bases, form] = FORMS[c];
        for (const base of bases) push(place(base), form, false);
        // Curly quotes differ from straight ones as accents do.
        if (bases === "'" || bases === "\"") all.at(-1).marks.push(MARKS.length + form);
      } else if (numeric && c >= "0" && c <= "9") {
        const last = all.at(-1);
        if (last?.run !== undefined) last.run = (last.run + c).replace(/^0+(?=.)/, "");
        else all.push({ first: DIGITS, marks: [], form: 0, upper: false, run: c });
      } else {
        push(place(c), 0, c !== c.toLowerCase());
      }
    }
    return all;
  };

  const unknown = (c) => {
    refuse(`localeCompare of ${JSON.stringify(c)}`);
  };
  const firsts = (a, b) => {
    if (a.run !== undefined && b.run !== undefined) {
      return a.run.length - b.run.length || (a.run < b.run ? -1 : Number(a.run > b.run));
    }
    if (a.first === b.first) return 0;
    for (const { first } of [a, b]) if (typeof first === "string") unknown(first);
    return a.first - b.first;
  };
  const accents = (a, b) => {
    for (let at = 0; at < Math.max(a.length, b.length); at++) {
      const [left, right] = [a[at] ?? -1, b[at] ?? -1];
      if (left === right) continue;
      for (const mark of [left, right]) if (typeof mark === "string") unknown(mark);
      return left - right;
    }
    return 0;
  };

  const compare = (left, right, { sensitivity, numeric, caseFirst }) => {
    if (left === right) return 0;
    const [a, b] = [elements(left, numeric), elements(right, numeric)];
    const shorter = Math.min(a.length, b.length);
    const levels = [firsts];
    if (sensitivity !== "base" && sensitivity !== "case") levels.push((x, y) => accents(x.marks, y.marks));
    if (sensitivity === "variant" || sensitivity === "case") {
      const sign = caseFirst === "upper" ? -1 : 1;
      levels.push((x, y) => (x.upper - y.upper) * sign);
    }
    if (sensitivity === "variant") levels.push((x, y) => x.form - y.form);
    for (const level of levels) {
      for (let at = 0; at < shorter; at++) {
        const order = level(a[at], b[at]);
        if (order) return order < 0 ? -1 : 1;
      }
      if (a.length !== b.length) {
        const rest = (a.length > b.length ? a : b)[shorter].first;
        if (typeof rest === "string" && !/\p{L}|\p{N}/u.test(rest)) unknown(rest);
        return a.length < b.length ? -1 : 1;
      }
    }
    return 0;
  };

  const collation = (what, asked, given) => {
    english(what, asked);
    const options = taken(given);
    for (const [name, known] of Object.entries({
      ignorePunctuation: [false], usage: ["sort"], collation: ["default"],
    })) {
      option(what, options, name, known);
    }
    return {
      sensitivity:
        option(what, options, "sensitivity", ["base", "accent", "case", "variant"]) ?? "variant",
      numeric: Boolean(options.numeric),
      caseFirst: option(what, options, "caseFirst", ["upper", "lower", "false"]) ?? "false",
    };
  };
  class Collator {
    #read;
    constructor(asked, options) {
      this.#read = collation("Intl.Collator", asked, options);
      const read = this.#read;
      define(this, "compare", (a, b) => compare(String(a), String(b), read));
    }
    resolvedOptions() {
      return { locale: "en-US", usage: "sort", ignorePunctuation: false, ...this.#read };
    }
  }
  define(String.prototype, "localeCompare", function (other, asked, options) {
    return compare(String(this), String(other), collation("localeCompare", asked, options));
  });

  locales(Collator);
  define(Intl, "Collator", new Proxy(Collator, { apply: (Kind, _, how) => new Kind(...how) }));
})
