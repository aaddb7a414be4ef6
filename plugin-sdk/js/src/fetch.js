// `fetch` through the runner: it adds keys, keeps to limits, tries again and remembers, for granted addresses only.
// An answer is there when `fetch` returns, since nothing else could be done meanwhile; so there is no promise.

import { send, sendAll } from "#host";

import { PluginError, errorOf, hosted } from "./errors.js";
import { dropNull, onlyKnown } from "./records.js";

const INIT = ["method", "headers", "body", "credential", "bucket", "timeoutMs", "cache"];

/** The error that a status stands for where nothing says better. */
const CODES = { 401: "auth", 403: "auth", 404: "not-found", 408: "timeout", 409: "transient", 425: "transient", 429: "rate-limited" };
const codeOf = (status) => {
  if (CODES[status]) return CODES[status];
  if (status >= 500) return "transient";
  return status >= 400 ? "invalid-request" : "bad-response";
};

/** Names in any case, each with what was said under it. */
class Headers {
  #pairs;
  constructor(pairs) { this.#pairs = pairs; }
  get(name) {
    const wanted = String(name).toLowerCase();
    const found = this.#pairs.filter(([key]) => key.toLowerCase() === wanted).map(([, value]) => value);
    return found.length ? found.join(", ") : null;
  }
  has(name) { return this.get(name) !== null; }
  forEach(act) { for (const [name, value] of this.#pairs) act(value, name, this); }
  entries() { return this.#pairs.values(); }
  [Symbol.iterator]() { return this.entries(); }
}

/** A whole response, of any status. */
class Response {
  #body;
  constructor(url, { status, headers, body, cached }) {
    Object.assign(this, { url, status, ok: status >= 200 && status < 300, headers: new Headers(headers), cached });
    this.#body = body instanceof Uint8Array ? body : Uint8Array.from(body);
  }
  bytes() { return this.#body; }
  arrayBuffer() { return Uint8Array.from(this.#body).buffer; }
  text() { return new TextDecoder().decode(this.#body); }
  json() {
    try {
      return JSON.parse(this.text());
    } catch (error) {
      throw new PluginError("bad-response", `the response is not JSON: ${error.message}`, { status: this.status });
    }
  }
  /** Itself if its status is 2xx, else the error that the status stands for. */
  orThrow() {
    if (this.ok) return this;
    let detail;
    try { detail = JSON.parse(this.text()); } catch { /* what is no JSON is no detail */ }
    throw new PluginError(codeOf(this.status), `the server answered HTTP ${this.status}`, { status: this.status, detail });
  }
}

function request(url, init = {}) {
  onlyKnown("what fetch is given", init, INIT);
  const { method, headers = [], body, credential, bucket, timeoutMs, cache } = init;
  const pairs = typeof headers[Symbol.iterator] === "function" ? [...headers] : Object.entries(headers);
  const isForm = body instanceof URLSearchParams;
  const named = pairs.some(([name]) => String(name).toLowerCase() === "content-type");
  if (isForm && !named) pairs.push(["content-type", "application/x-www-form-urlencoded;charset=UTF-8"]);
  const text = isForm ? String(body) : body;
  return dropNull({
    method: (method ?? (body === undefined ? "GET" : "POST")).toUpperCase(),
    url: String(url),
    headers: pairs.map(([name, value]) => [String(name), String(value)]),
    body: typeof text === "string" ? new TextEncoder().encode(text) : text ?? null,
    credential: credential ?? null,
    bucket: bucket ?? null,
    timeoutMs: timeoutMs ?? null,
    cache: cache === "no-store" ? "bypass" : "auto",
  });
}

/** Sends a request and gives the whole response. */
export const fetch = (url, init) => hosted(() => {
  const asked = request(url, init);
  return new Response(asked.url, send(asked));
});

/** Sends several at once, each `[url, init]` or a URL; in the place of one that failed is the error. */
export function fetchAll(requests) {
  const asked = requests.map((one) => (Array.isArray(one) ? request(...one) : request(one)));
  const answers = sendAll(asked);
  return answers.map(({ tag, val }, at) => (tag === "ok" ? new Response(asked[at].url, val) : errorOf(val)));
}
