// Small forms of Node's modules that need no world: `path` (POSIX, from `/`), `assert`, `util`.
(function (host) {
  "use strict";
  const { refuse, builtins } = host;

  // --- path
  const normal = (path, absolute) => {
    const parts = [];
    for (const part of path.split("/")) {
      if (part === "" || part === ".") continue;
      if (part !== "..") parts.push(part);
      else if (parts.length && parts.at(-1) !== "..") parts.pop();
      else if (!absolute) parts.push("..");
    }
    return parts;
  };
  const trimmed = (path) => path.replace(/(?<=[^])\/+$/, "");
  const path = {
    sep: "/", delimiter: ":",
    isAbsolute: (path) => path.startsWith("/"),
    normalize(path) {
      const absolute = path.startsWith("/");
      let text = normal(path, absolute).join("/");
      if (!text && !absolute) text = ".";
      if (text && path.endsWith("/")) text += "/";
      return absolute ? `/${text}` : text;
    },
    join: (...parts) => path.normalize(parts.filter(Boolean).join("/") || "."),
    resolve(...parts) {
      const from = parts.findLastIndex((part) => part.startsWith("/"));
      return `/${normal(parts.slice(Math.max(0, from)).join("/"), true).join("/")}`;
    },
    basename(path, ending) {
      const name = trimmed(path).split("/").at(-1);
      return ending && name !== ending && name.endsWith(ending) ? name.slice(0, -ending.length) : name;
    },
    dirname(path) {
      const cut = trimmed(path).lastIndexOf("/");
      if (cut < 0) return ".";
      return trimmed(path.slice(0, cut)) || "/";
    },
    extname: (given) => /[^.](\.[^.]*)$|^\.{2,}[^.]*()$/.exec(path.basename(given))?.[1] ?? "",
    relative(from, to) {
      const [a, b] = [from, to].map((one) => normal(path.resolve(one), true));
      let same = 0;
      while (same < Math.min(a.length, b.length) && a[same] === b[same]) same++;
      return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
    },
    parse(given) {
      const [base, ext] = [path.basename(given), path.extname(given)];
      const root = given.startsWith("/") ? "/" : "";
      const dir = trimmed(given).includes("/") ? path.dirname(given) : "";
      return { root, dir, base, ext, name: base.slice(0, base.length - ext.length) };
    },
    format({ dir, root = "", base, name = "", ext = "" }) {
      const file = base ?? name + ext;
      return dir ? (dir === root ? dir + file : `${dir}/${file}`) : root + file;
    },
  };
  path.posix = path;
  builtins.set("path", path);

  // --- Equality, deep. `strict`: also of kinds.
  const equal = (a, b, strict, seen = []) => {
    if (Object.is(a, b)) return true;
    const objects = [a, b].map((one) => typeof one === "object" && one !== null);
    if (!objects[0] || !objects[1]) {
      return !strict && !objects[0] && !objects[1] && (a == b || (a !== a && b !== b));
    }
    if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (seen.some(([left, right]) => left === a && right === b)) return true;
    const inside = [...seen, [a, b]];
    const tag = (one) => Object.prototype.toString.call(one);
    if (Array.isArray(a) !== Array.isArray(b) || tag(a) !== tag(b)) return false;
    if (a instanceof Date) { if (a.getTime() !== b.getTime()) return false; }
    else if (a instanceof RegExp) { if (String(a) !== String(b)) return false; }
    else if (a instanceof Error) { if (a.message !== b.message || a.name !== b.name) return false; }
    else if (/Number|String|Boolean|BigInt/.test(tag(a)) && !Object.is(a.valueOf(), b.valueOf())) return false;
    if (a instanceof Set || a instanceof Map) {
      if (a.size !== b.size) return false;
      const free = [...b];
      for (const one of a) {
        const at = free.findIndex((other) => equal(one, other, strict, inside));
        if (at < 0) return false;
        free.splice(at, 1);
      }
    }
    const [left, right] = [Object.keys(a), Object.keys(b)];
    return left.length === right.length &&
      left.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key], strict, inside));
  };

  // --- util.inspect: Node's words; lines are broken more simply, at 72 characters.
  const quoted = (text) => {
    const quote = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") ? "`" : "'";
    const inner = JSON.stringify(text).slice(1, -1).replace(/\\"/g, '"');
    return quote + (quote === "'" ? inner.replace(/'/g, "\\'") : inner) + quote;
  };
  const inspect = (value, options) => shown(value, options?.depth === null ? Infinity : options?.depth ?? 2, 0, []);
  const shown = (value, depth, level, around) => {
    if (typeof value === "string") return quoted(value);
    if (typeof value === "bigint") return `${value}n`;
    if (Object.is(value, -0)) return "-0";
    if (typeof value === "function") {
      const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function";
      return kind === "class" ? `[class ${value.name || "(anonymous)"}]`
        : value.name ? `[Function: ${value.name}]` : "[Function (anonymous)]";
    }
    if (typeof value !== "object" || value === null) return String(value);
    if (around.includes(value)) return "[Circular *1]";
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Error) return value.stack ? `${value}` : `[${value}]`;
    if (value instanceof Promise) return "Promise";
    const name = Object.getPrototypeOf(value) === null ? "[Object: null prototype]" : value.constructor?.name ?? "Object";
    const array = Array.isArray(value);
    const empty = (value.size ?? value.length ?? 0) === 0 && Object.keys(value).length === 0;
    if (level > depth && !empty) return array ? "[Array]" : `[${name}]`;
    const inner = (item) => shown(item, depth, level + 1, [...around, value]);
    const entries = [];
    const list = array || value instanceof Set || ArrayBuffer.isView(value);
    if (list) {
      for (const item of value) {
        if (entries.length < 100) entries.push(inner(item));
      }
      const more = (value.length ?? value.size) - entries.length;
      if (more > 0) entries.push(`... ${more} more item${more > 1 ? "s" : ""}`);
    } else if (value instanceof Map) {
      for (const [key, item] of value) entries.push(`${inner(key)} => ${inner(item)}`);
    }
    for (const key of list && !(value instanceof Set) ? [] : Object.keys(value)) {
      entries.push(`${/^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key)}: ${inner(value[key])}`);
    }
    const size = value.size ?? value.length;
    const head = name === "Object" || name === "Array" ? ""
      : list || value instanceof Map ? `${name}(${size}) ` : `${name} `;
    const [open, close] = list && !(value instanceof Set) ? "[]" : "{}";
    if (!entries.length) return head + open + close;
    const line = `${head}${open} ${entries.join(", ")} ${close}`;
    if (line.length <= 72 && !line.includes("\n")) return line;
    const indent = "  ".repeat(level + 1);
    return `${head}${open}\n${indent}${entries.join(`,\n${indent}`)}\n${indent.slice(2)}${close}`;
  };
  const format = (...values) => {
    let used = 0;
    let text = "";
    if (typeof values[0] === "string") {
      used = 1;
      text = values[0].replace(/%([sdifjoOc%])/g, (whole, kind) => {
        if (kind === "%") return "%";
        if (used >= values.length) return whole;
        const value = values[used++];
        if (kind === "d") return String(Number(value));
        if (kind === "i") return String(parseInt(value, 10));
        if (kind === "f") return String(parseFloat(value));
        if (kind === "j") return JSON.stringify(value);
        if (kind === "c") return "";
        return kind === "s" && typeof value !== "object" ? String(value) : inspect(value);
      });
    }
    const rest = values.slice(used).map((value) => (typeof value === "string" ? value : inspect(value)));
    return [...(used ? [text] : []), ...rest].join(" ");
  };
  builtins.set("util", {
    inspect, format,
    isDeepStrictEqual: (a, b) => equal(a, b, true),
    promisify: (act) => (...values) =>
      new Promise((resolve, reject) =>
        act(...values, (error, value) => (error ? reject(error) : resolve(value)))),
    TextEncoder, TextDecoder,
  });

  // --- assert
  class AssertionError extends Error {
    constructor({ message, actual, expected, operator }) {
      super(message);
      Object.assign(this, { code: "ERR_ASSERTION", actual, expected, operator });
      this.name = "AssertionError";
    }
  }
  const demand = (holds, message, words, actual, expected, operator) => {
    if (holds) return;
    if (message instanceof Error) throw message;
    throw new AssertionError({ message: message ?? words(), actual, expected, operator });
  };
  const pair = (name, holds, words) => (actual, expected, message) =>
    demand(holds(actual, expected), message,
      () => `${words}:\n\n${inspect(actual)} ${/[nN]ot/.test(name) ? "===" : "!=="} ${inspect(expected)}\n`,
      actual, expected, name);
  const ok = (value, message) =>
    demand(value, message, () => "The expression evaluated to a falsy value", value, true, "==");
  const fits = (error, expected) => {
    if (expected === undefined || typeof expected === "string") return true;
    if (expected instanceof RegExp) return expected.test(String(error));
    if (typeof expected === "function") {
      if (expected.prototype !== undefined && error instanceof expected) return true;
      return !(expected === Error || Error.isPrototypeOf(expected)) && expected(error) === true;
    }
    return Object.entries(expected).every(([key, value]) =>
      value instanceof RegExp && typeof error[key] === "string" ? value.test(error[key]) : equal(error[key], value, true));
  };
  const thrown = (error, expected) => {
    if (!fits(error, expected)) throw error;
  };
  const missing = (what, expected, message) =>
    demand(false, typeof expected === "string" ? expected : message, () => `Missing expected ${what}.`);
  const assert = (value, message) => ok(value, message);
  Object.assign(assert, {
    ok, AssertionError,
    equal: pair("==", (a, b) => a == b || (a !== a && b !== b), "Expected values to be equal"),
    notEqual: pair("notEqual", (a, b) => a != b && (a === a || b === b), "Expected values not to be equal"),
    strictEqual: pair("strictEqual", Object.is, "Expected values to be strictly equal"),
    notStrictEqual: pair("notStrictEqual", (a, b) => !Object.is(a, b), "Expected values to be not strictly equal"),
    deepEqual: pair("deepEqual", (a, b) => equal(a, b, false), "Expected values to be loosely deep-equal"),
    notDeepEqual: pair("notDeepEqual", (a, b) => !equal(a, b, false), "Expected values not to be loosely deep-equal"),
    deepStrictEqual: pair("deepStrictEqual", (a, b) => equal(a, b, true), "Expected values to be strictly deep-equal"),
    notDeepStrictEqual: pair("notDeepStrictEqual", (a, b) => !equal(a, b, true), "Expected values not to be strictly deep-equal"),
    match: (text, pattern, message) => demand(typeof text === "string" && pattern.test(text), message,
      () => `The input did not match the regular expression ${pattern}. Input:\n\n${inspect(text)}\n`),
    doesNotMatch: (text, pattern, message) => demand(typeof text === "string" && !pattern.test(text), message,
      () => `The input was expected to not match the regular expression ${pattern}. Input:\n\n${inspect(text)}\n`),
    fail: (message = "Failed") => demand(false, message),
    throws(act, expected, message) {
      try {
        act();
      } catch (error) {
        return thrown(error, expected);
      }
      missing("exception", expected, message);
    },
    async rejects(act, expected, message) {
      try {
        await (typeof act === "function" ? act() : act);
      } catch (error) {
        return thrown(error, expected);
      }
      missing("rejection", expected, message);
    },
    doesNotThrow: (act) => void act(),
    ifError(value) {
      if (value != null) throw value;
    },
  });
  assert.strict = Object.assign((value, message) => ok(value, message), assert, {
    equal: assert.strictEqual, notEqual: assert.notStrictEqual,
    deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
  });
  assert.strict.strict = assert.strict;
  builtins.set("assert", assert);
  builtins.set("assert/strict", assert.strict);

  // What a module has not is named when it is reached for.
  for (const [name, module] of builtins) {
    const refusing = new Proxy(module, {
      get(target, key) {
        if (typeof key === "string" && !(key in target) && !["then", "default", "__esModule", "toJSON"].includes(key)) {
          refuse(`${name}.${key}`);
        }
        return target[key];
      },
    });
    builtins.set(name, refusing);
  }
})
