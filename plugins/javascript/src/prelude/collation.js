// Order of text: `localeCompare`, `Intl.Collator`. What the order is, a library knows (`collation.rs`).
(function (host) {
  "use strict";
  const { collate, define, option, taken, wellFormed } = host;

  const collation = (what, asked, given) => {
    const options = taken(given);
    for (const [name, known] of Object.entries({ usage: ["sort"], collation: ["default"] })) {
      option(what, options, name, known);
    }
    const sensitivities = ["base", "accent", "case", "variant"];
    return {
      locale: String([asked].flat()[0] ?? "en-US"),
      usage: "sort",
      sensitivity: option(what, options, "sensitivity", sensitivities) ?? "variant",
      ignorePunctuation: Boolean(options.ignorePunctuation),
      collation: "default",
      numeric: Boolean(options.numeric),
      caseFirst: option(what, options, "caseFirst", ["upper", "lower", "false"]) ?? "false",
    };
  };
  const compare = (left, right, read) => {
    const order = collate(wellFormed(String(left)), wellFormed(String(right)), read);
    if (order === undefined) throw new RangeError(`Incorrect locale information provided`);
    return order;
  };
  class Collator {
    #read;
    constructor(asked, options) {
      const read = collation("Intl.Collator", asked, options);
      compare("", "", read);
      this.#read = read;
      define(this, "compare", (a, b) => compare(a, b, read));
    }
    resolvedOptions() {
      return { ...this.#read };
    }
  }
  define(Collator, "supportedLocalesOf", (asked) => [asked ?? []].flat());
  define(String.prototype, "localeCompare", function (other, asked, options) {
    return compare(this, other, collation("localeCompare", asked, options));
  });
  define(Intl, "Collator", new Proxy(Collator, { apply: (Kind, _, how) => new Kind(...how) }));
})
