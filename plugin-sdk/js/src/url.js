// `URL` and `URLSearchParams`, for QuickJS. Addresses as APIs have them: hosts in ASCII, in brackets or as four numbers.

const PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21" };
const PATH = /[\u0000-\u0020"#<>?^`{}\u007f-\u{10ffff}]/gu;
const QUERY = /[\u0000-\u0020"#<>\u007f-\u{10ffff}]/gu;
const SPECIAL_QUERY = /[\u0000-\u0020"#'<>\u007f-\u{10ffff}]/gu;
const HASH = /[\u0000-\u0020"<>`\u007f-\u{10ffff}]/gu;
const USER = /[\u0000-\u0020"#/:;<=>?@[\\\]^`{|}\u007f-\u{10ffff}]/gu;

const escaped = (text, set) => text.toWellFormed().replace(set, (sign) => {
  const code = sign.charCodeAt(0);
  return code < 128 ? `%${code.toString(16).toUpperCase().padStart(2, "0")}` : encodeURIComponent(sign);
});
const invalid = (input, why = "") =>
  Object.assign(new TypeError(`Invalid URL${why}`), { code: "ERR_INVALID_URL", input });

function hostOf(text, isSpecial, input) {
  const host = isSpecial ? text.toLowerCase() : text;
  if (/^\[[0-9a-f:.]+\]$/i.test(host)) return host;
  if (/[^\u0000-\u007f]/.test(host)) throw invalid(input, ": write the host in ASCII, as xn--…");
  if ((isSpecial && host === "") || /[\u0000-\u0020#/:<>?@[\\\]^|%]/.test(host)) throw invalid(input);
  return host;
}

function portOf(text, protocol, input) {
  if (!/^[0-9]*$/.test(text) || Number(text) > 65535) throw invalid(input);
  const port = text === "" ? "" : String(Number(text));
  return port === PORTS[protocol] ? "" : port;
}

/** A path without `.` and `..`. */
function straight(path) {
  const parts = [];
  const all = path.split("/").slice(1);
  all.forEach((part, at) => {
    const name = part.replace(/%2e/gi, ".");
    const isLast = at === all.length - 1;
    if (name === "..") parts.pop();
    if (name === "." || name === "..") {
      if (isLast) parts.push("");
    } else parts.push(part);
  });
  return `/${parts.join("/")}`;
}

/** Path, query and fragment, from what follows the host. */
function tail(rest, isSpecial, base) {
  const [, path, search = "", hash = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(rest);
  let joined = isSpecial ? path.replace(/\\/g, "/") : path;
  if (base && !joined.startsWith("/")) joined = joined ? base.pathname.replace(/[^/]*$/, "") + joined : base.pathname;
  const keepsSearch = base && path === "" && search === "" && !rest.startsWith("?");
  const query = escaped(keepsSearch ? base.search.slice(1) : search.slice(1), isSpecial ? SPECIAL_QUERY : QUERY);
  const fragment = escaped(hash.slice(1), HASH);
  return {
    pathname: straight(escaped(joined.startsWith("/") ? joined : `/${joined}`, PATH)),
    search: query && `?${query}`,
    hash: fragment && `#${fragment}`,
  };
}

function withHost(protocol, rest, isSpecial, input) {
  const [, authority, after] = (isSpecial ? /^([^/\\?#]*)(.*)$/s : /^([^/?#]*)(.*)$/s).exec(rest);
  const at = authority.lastIndexOf("@");
  const [, user, , password = ""] = /^([^:]*)(:(.*))?$/s.exec(authority.slice(0, Math.max(at, 0)));
  const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(authority.slice(at + 1)) ?? [];
  if (host === undefined) throw invalid(input);
  const parts = tail(after, isSpecial);
  return {
    protocol,
    username: escaped(user, USER),
    password: escaped(password, USER),
    hostname: hostOf(host, isSpecial, input),
    port: portOf(port, protocol, input),
    ...parts,
    pathname: after.replace(/[?#].*$/s, "") === "" && !isSpecial ? "" : parts.pathname,
  };
}

function parse(input, base) {
  const text = input.replace(/^[\u0000-\u0020]+|[\u0000-\u0020]+$/g, "").replace(/[\t\n\r]/g, "");
  const scheme = /^([a-z][a-z0-9+.-]*:)(.*)$/is.exec(text);
  if (scheme) {
    const protocol = scheme[1].toLowerCase();
    if (protocol in PORTS) return withHost(protocol, scheme[2].replace(/^[/\\]*/, ""), true, input);
    if (scheme[2].startsWith("//")) return withHost(protocol, scheme[2].slice(2), false, input);
    const [, path, search = "", hash = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(scheme[2]);
    const control = /[\u0000-\u001f\u007f-\u{10ffff}]/gu;
    const pathname = path.startsWith("/") ? straight(escaped(path, PATH)) : escaped(path, control);
    return { protocol, username: "", password: "", hostname: null, port: "", pathname, search: escaped(search, QUERY), hash: hash && `#${escaped(hash.slice(1), HASH)}` };
  }
  if (!base || base.hostname === null) throw invalid(input);
  const isSpecial = base.protocol in PORTS;
  if ((isSpecial ? /^[/\\]{2}/ : /^\/\//).test(text)) return withHost(base.protocol, text.slice(2), isSpecial, input);
  return { ...base, ...tail(text, isSpecial, base) };
}

const form = (text) => encodeURIComponent(text.toWellFormed())
  .replace(/%20/g, "+").replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
const unform = (text) => text.replace(/\+/g, " ").replace(/(%[0-9a-f]{2})+/gi, (run) => {
  const bytes = run.slice(1).split("%").map((two) => parseInt(two, 16));
  return new TextDecoder().decode(Uint8Array.from(bytes));
});
const RELOAD = Symbol("reload");

export class URLSearchParams {
  #pairs = [];
  #changed;
  constructor(source = "", changed = () => {}) {
    this.#changed = changed;
    if (typeof source !== "object" || source === null) return void this[RELOAD](String(source));
    const pairs = source[Symbol.iterator] ? source : Object.entries(source);
    for (const [name, value] of pairs) this.#pairs.push([String(name), String(value)]);
  }
  [RELOAD](text) {
    const parts = text.replace(/^\?/, "").split("&").filter(Boolean);
    this.#pairs = parts.map((part) => {
      const at = part.includes("=") ? part.indexOf("=") : part.length;
      return [unform(part.slice(0, at)), unform(part.slice(at + 1))];
    });
  }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#pairs.push([String(name), String(value)]); this.#changed(); }
  delete(name) { this.#pairs = this.#pairs.filter(([key]) => key !== String(name)); this.#changed(); }
  get(name) { return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value); }
  has(name) { return this.#pairs.some(([key]) => key === String(name)); }
  set(name, value) {
    const first = this.#pairs.findIndex(([key]) => key === String(name));
    if (first < 0) return this.append(name, value);
    this.#pairs[first][1] = String(value);
    this.#pairs = this.#pairs.filter(([key], at) => at <= first || key !== String(name));
    this.#changed();
  }
  sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : Number(a > b))); this.#changed(); }
  forEach(act, self) { for (const [name, value] of this.#pairs) act.call(self, value, name, this); }
  *entries() { for (const pair of this.#pairs) yield [...pair]; }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map(([name, value]) => `${form(name)}=${form(value)}`).join("&"); }
}

export class URL {
  #parts;
  #query;
  constructor(address, base) {
    this.#parts = parse(String(address), base === undefined ? undefined : parse(String(base)));
  }
  static parse(address, base) {
    try { return new URL(address, base); } catch { return null; }
  }
  static canParse(address, base) { return URL.parse(address, base) !== null; }
  get #user() {
    const { username, password } = this.#parts;
    return username || password ? `${username}${password && `:${password}`}@` : "";
  }
  get href() {
    const { protocol, hostname, pathname, search, hash } = this.#parts;
    return `${protocol}${hostname === null ? "" : `//${this.#user}${this.host}`}${pathname}${search}${hash}`;
  }
  set href(address) {
    this.#parts = parse(String(address));
    this.#query?.[RELOAD](this.search);
  }
  get origin() { return this.protocol in PORTS ? `${this.protocol}//${this.host}` : "null"; }
  get protocol() { return this.#parts.protocol; }
  get username() { return this.#parts.username; }
  set username(text) { this.#parts.username = escaped(String(text), USER); }
  get password() { return this.#parts.password; }
  set password(text) { this.#parts.password = escaped(String(text), USER); }
  get host() { return `${this.hostname}${this.port && `:${this.port}`}`; }
  get hostname() { return this.#parts.hostname ?? ""; }
  set hostname(text) { this.#parts.hostname = hostOf(String(text), this.protocol in PORTS, text); }
  get port() { return this.#parts.port; }
  set port(text) { this.#parts.port = portOf(String(text), this.protocol, text); }
  get pathname() { return this.#parts.pathname; }
  set pathname(text) { this.#parts.pathname = tail(escaped(String(text), /[?#]/gu), this.protocol in PORTS).pathname; }
  get search() { return this.#parts.search; }
  set search(text) {
    const query = escaped(String(text).replace(/^\?/, ""), this.protocol in PORTS ? SPECIAL_QUERY : QUERY);
    this.#parts.search = query && `?${query}`;
    this.#query?.[RELOAD](this.search);
  }
  get searchParams() {
    this.#query ??= new URLSearchParams(this.search, () => {
      const query = String(this.#query);
      this.#parts.search = query && `?${query}`;
    });
    return this.#query;
  }
  get hash() { return this.#parts.hash; }
  set hash(text) {
    const fragment = escaped(String(text).replace(/^#/, ""), HASH);
    this.#parts.hash = fragment && `#${fragment}`;
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
}
