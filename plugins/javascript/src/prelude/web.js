// What code knows from browsers and Node that needs no world: base64, UTF-8, `URL`, `Buffer` in a
// small form, `structuredClone`. Addresses are read by the host functions (`web.rs`).
(function (host) {
  "use strict";
  const { refuse, define, encode, decode, url } = host;
  const global = (name, value) => define(globalThis, name, value);
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const VALUES = new Map([...ALPHABET].map((c, at) => [c, at]));
  VALUES.set("-", 62).set("_", 63);

  const toBase64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 3) {
      const rest = bytes.length - at;
      const three = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
      text += ALPHABET[three >> 18] + ALPHABET[(three >> 12) & 63];
      text += (rest > 1 ? ALPHABET[(three >> 6) & 63] : "=") + (rest > 2 ? ALPHABET[three & 63] : "=");
    }
    return text;
  };
  const fromBase64 = (text) => {
    const bytes = [];
    let [bits, held] = [0, 0];
    for (const c of text) {
      const value = VALUES.get(c);
      if (c === "=") break;
      if (value === undefined) continue;
      bits = ((bits << 6) | value) & 0xffffff;
      held += 6;
      if (held >= 8) bytes.push((bits >> (held -= 8)) & 255);
    }
    return bytes;
  };
  const invalid = (message) => new DOMException(message, "InvalidCharacterError");
  global("btoa", (value) => {
    const codes = Array.from(String(value), (c) => c.codePointAt(0));
    if (codes.some((code) => code > 255)) throw invalid("Invalid character");
    return toBase64(codes);
  });
  global("atob", (value) => {
    const text = String(value).replace(/[\t\n\f\r ]/g, "");
    const plain = text.length % 4 === 0 ? text.replace(/={1,2}$/, "") : text;
    if (plain.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(plain)) {
      throw invalid("The string to be decoded is not correctly encoded.");
    }
    return fromBase64(plain).map((code) => String.fromCharCode(code)).join("");
  });

  // The bytes of a view or a buffer.
  const bytesOf = (source) => {
    if (source === undefined) return new Uint8Array();
    if (ArrayBuffer.isView(source)) {
      return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    }
    return new Uint8Array(source);
  };
  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return encode(host.wellFormed(String(text))); }
  }
  class TextDecoder {
    #fatal;
    #bom;
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) refuse(`TextDecoder('${label}')`);
      this.#fatal = fatal;
      this.#bom = ignoreBOM;
    }
    get encoding() { return "utf-8"; }
    decode(source, options) {
      if (options?.stream) refuse("TextDecoder.decode with stream: true");
      const text = decode(bytesOf(source), this.#fatal);
      if (text === undefined) throw new TypeError("The encoded data was not valid for encoding utf-8");
      return text.startsWith("\ufeff") && !this.#bom ? text.slice(1) : text;
    }
  }
  global("TextEncoder", TextEncoder);
  global("TextDecoder", TextDecoder);

  const ENCODINGS = {
    utf8: [(text) => encode(host.wellFormed(text)), (bytes) => decode(bytes, false)],
    base64: [fromBase64, toBase64],
    base64url: [fromBase64, (bytes) => toBase64(bytes).replace(/[+/]/g, (c) => (c === "+" ? "-" : "_")).replace(/=+$/, "")],
    hex: [
      (text) => (/^([0-9a-f]{2})*/i.exec(text)[0].match(/../g) ?? []).map((two) => parseInt(two, 16)),
      (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
    ],
    latin1: [
      (text) => Array.from({ length: text.length }, (_, at) => text.charCodeAt(at) & 255),
      (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""),
    ],
    ascii: [
      (text) => ENCODINGS.latin1[0](text),
      (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte & 127)).join(""),
    ],
  };
  ENCODINGS["utf-8"] = ENCODINGS.utf8;
  ENCODINGS.binary = ENCODINGS.latin1;
  const encoding = (name = "utf8") =>
    ENCODINGS[String(name).toLowerCase()] ?? refuse(`Buffer with the encoding '${name}'`);

  class Buffer extends Uint8Array {
    static from(source, how, length) {
      if (typeof source === "string") return new Buffer(encoding(how)[0](source));
      if (source instanceof ArrayBuffer) return new Buffer(source, how, length);
      if (source?.type === "Buffer") return new Buffer(source.data);
      if (typeof source !== "object" || source === null) {
        throw new TypeError(`The first argument must be a string, an array or a buffer. Received ${typeof source}`);
      }
      return new Buffer(source);
    }
    static alloc(size, fill = 0) { return new Buffer(size).fill(fill); }
    static byteLength(source, how) {
      return typeof source === "string" ? encoding(how)[0](source).length : source.byteLength;
    }
    static concat(list, length) {
      const all = new Buffer(length ?? list.reduce((sum, one) => sum + one.length, 0));
      let at = 0;
      for (const one of list) {
        const fits = one.subarray(0, all.length - at);
        all.set(fits, at);
        at += fits.length;
      }
      return all;
    }
    static isBuffer(value) { return value instanceof Buffer; }
    static isEncoding(name) { return Object.hasOwn(ENCODINGS, String(name).toLowerCase()); }
    static compare(a, b) {
      const at = a.findIndex((byte, at) => byte !== b[at]);
      const order = at < 0 || at >= b.length ? a.length - b.length : a[at] - b[at];
      return Math.sign(order);
    }
    toString(how, start = 0, end = this.length) {
      return encoding(how)[1](this.subarray(start, end));
    }
    toJSON() { return { type: "Buffer", data: Array.from(this) }; }
    equals(other) { return Buffer.compare(this, other) === 0; }
    compare(other) { return Buffer.compare(this, other); }
    // In Node it shares its bytes, unlike that of other arrays.
    slice(start, end) { return this.subarray(start, end); }
  }
  for (const name of ["fill", "includes", "indexOf", "lastIndexOf"]) {
    const plain = Uint8Array.prototype[name];
    define(Buffer.prototype, name, function (value, ...rest) {
      if (typeof value !== "number") refuse(`Buffer.${name} of a text or buffer`);
      return Reflect.apply(plain, this, [value, ...rest]);
    });
  }
  define(Buffer, "allocUnsafe", Buffer.alloc);
  global("Buffer", Buffer);
  host.builtins.set("buffer", { Buffer });

  // --- Addresses.
  const form = (text) => encodeURIComponent(host.wellFormed(text))
    .replace(/%20/g, "+").replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const unform = (text) => {
    const bytes = [];
    for (const byte of encode(host.wellFormed(text.replace(/\+/g, " ")))) bytes.push(byte);
    for (let at = 0; at < bytes.length - 2; at++) {
      const two = String.fromCharCode(bytes[at + 1], bytes[at + 2]);
      if (bytes[at] === 37 && /^[0-9a-f]{2}$/i.test(two)) bytes.splice(at, 3, parseInt(two, 16));
    }
    return decode(new Uint8Array(bytes), false);
  };
  const RELOAD = Symbol("reload");
  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    constructor(source = "", changed) {
      if (changed) this.#changed = changed;
      if (typeof source === "object" && source !== null) {
        const pairs = source[Symbol.iterator] ? source : Object.entries(source);
        for (const [name, value] of pairs) this.#pairs.push([String(name), String(value)]);
        return;
      }
      this[RELOAD](source);
    }
    // Reads the pairs from a text.
    [RELOAD](source) {
      this.#pairs = [];
      for (const part of String(source).replace(/^\?/, "").split("&")) {
        if (!part) continue;
        const at = part.includes("=") ? part.indexOf("=") : part.length;
        this.#pairs.push([unform(part.slice(0, at)), unform(part.slice(at + 1))]);
      }
    }
    get size() { return this.#pairs.length; }
    append(name, value) { this.#pairs.push([String(name), String(value)]); this.#changed(); }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(([key, held]) =>
        key !== String(name) || (value !== undefined && held !== String(value)));
      this.#changed();
    }
    get(name) { return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value); }
    has(name, value) {
      return this.#pairs.some(([key, held]) =>
        key === String(name) && (value === undefined || held === String(value)));
    }
    set(name, value) {
      const first = this.#pairs.findIndex(([key]) => key === String(name));
      if (first < 0) return this.append(name, value);
      this.#pairs[first][1] = String(value);
      this.#pairs = this.#pairs.filter(([key], at) => at <= first || key !== String(name));
      this.#changed();
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
      this.#changed();
    }
    forEach(act, self) { for (const [name, value] of this.#pairs) act.call(self, value, name, this); }
    *entries() { for (const pair of this.#pairs) yield [...pair]; }
    *keys() { for (const [name] of this.#pairs) yield name; }
    *values() { for (const [, value] of this.#pairs) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map(([name, value]) => `${form(name)}=${form(value)}`).join("&"); }
  }

  let change, part;
  class URL {
    #parts;
    #query;
    static {
      change = (it, name, value) => {
        it.#parts = url(it.#parts.href, name, host.wellFormed(String(value))) ?? it.#parts;
        if (name === "href" || name === "search") it.#query?.[RELOAD](part(it, "search"));
      };
      part = (it, name) => it.#parts[name];
    }
    constructor(address, base) {
      const wanted = host.wellFormed(String(address));
      const parts = url(wanted, base === undefined ? undefined : host.wellFormed(String(base)), undefined);
      if (!parts) {
        throw Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: wanted });
      }
      this.#parts = parts;
    }
    static canParse(address, base) { return URL.parse(address, base) !== null; }
    static parse(address, base) {
      try {
        return new URL(address, base);
      } catch {
        return null;
      }
    }
    get searchParams() {
      this.#query ??= new URLSearchParams(this.search, () => change(this, "search", String(this.#query)));
      return this.#query;
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
  }
  for (const name of [
    "href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname",
    "search", "hash",
  ]) {
    Object.defineProperty(URL.prototype, name, {
      get() { return part(this, name); },
      set(value) {
        if (name === "origin") return;
        if (name === "href" && !URL.canParse(value)) throw new TypeError("Invalid URL");
        change(this, name, value);
      },
      configurable: true,
      enumerable: true,
    });
  }
  global("URL", URL);
  global("URLSearchParams", URLSearchParams);
  host.builtins.set("url", { URL, URLSearchParams });

  // --- Copies.
  const PLAIN = [Boolean, Number, String, BigInt];
  const copy = (value, known) => {
    if (typeof value === "function" || typeof value === "symbol") {
      throw new DOMException(`${String(value)} could not be cloned.`, "DataCloneError");
    }
    if (typeof value !== "object" || value === null) return value;
    if (known.has(value)) return known.get(value);
    const keep = (made) => {
      known.set(value, made);
      return made;
    };
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (PLAIN.some((Kind) => value instanceof Kind)) return keep(Object(value.valueOf()));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
      const buffer = copy(value.buffer, known);
      const Kind = value instanceof Buffer ? Uint8Array : value.constructor;
      return keep(new Kind(buffer, value.byteOffset, value.length ?? value.byteLength));
    }
    if (value instanceof Map) {
      const made = keep(new Map());
      for (const [key, item] of value) made.set(copy(key, known), copy(item, known));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      for (const item of value) made.add(copy(item, known));
      return made;
    }
    if (value instanceof Error) {
      const Kind = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]
        .find((Kind) => value.name === Kind.name) ?? Error;
      const made = keep(new Kind(value.message));
      define(made, "stack", value.stack);
      if ("cause" in value) define(made, "cause", copy(value.cause, known));
      return made;
    }
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) {
      throw new DOMException("#<Object> could not be cloned.", "DataCloneError");
    }
    const made = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) {
      Object.defineProperty(made, key, {
        value: copy(value[key], known), writable: true, enumerable: true, configurable: true,
      });
    }
    return made;
  };
  global("structuredClone", (value, options) => {
    if (options?.transfer?.length) refuse("structuredClone with transfer");
    return copy(value, new Map());
  });
})
