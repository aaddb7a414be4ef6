// What code adds to the language that may send requests: `fetch` and what belongs to it. Evaluated
// before the code, and only for code that may. Nothing is sent from here: when nothing else is left to
// do, `advance` says which requests wait, and the code is run again with their answers (`network.rs`).
(function (answers) {
  "use strict";
  const { stringify } = JSON;
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  const lacks = (what, instead) => {
    const message = `\`${what}\` does not exist in the sandbox: ${instead}`;
    throw Object.assign(new Error(message), { name: "UnsupportedError" });
  };
  const utf8 = new TextEncoder();
  const decoder = new TextDecoder();
  const base64 = (bytes) => Buffer.from(bytes).toString("base64");

  // --- Aborting.
  const timeoutOf = Symbol("timeout");
  class AbortSignal {
    aborted = false;
    reason = undefined;
    onabort = null;
    [timeoutOf] = undefined;
    #heard = [];
    static abort(reason) {
      const signal = new AbortSignal();
      abort(signal, reason);
      return signal;
    }
    // The host holds a request to its time: the clock of the sandbox stands still meanwhile.
    static timeout(ms) {
      const signal = new AbortSignal();
      signal[timeoutOf] = Math.max(1, Math.trunc(Number(ms)) || 1);
      return signal;
    }
    static any(signals) {
      const signal = new AbortSignal();
      for (const one of signals) {
        if (one.aborted) abort(signal, one.reason);
        else one.addEventListener("abort", () => abort(signal, one.reason));
        const ms = one[timeoutOf];
        if (ms !== undefined) signal[timeoutOf] = Math.min(ms, signal[timeoutOf] ?? ms);
      }
      return signal;
    }
    throwIfAborted() { if (this.aborted) throw this.reason; }
    addEventListener(type, act) { if (type === "abort" && act) this.#heard.push(act); }
    removeEventListener(type, act) { this.#heard = this.#heard.filter((one) => one !== act); }
    dispatchEvent(event) {
      this.onabort?.(event);
      for (const act of this.#heard.splice(0)) (act.handleEvent ?? act).call(act.handleEvent ? act : this, event);
      return true;
    }
  }
  const abort = (signal, reason) => {
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason ?? new DOMException("This operation was aborted", "AbortError");
    signal.dispatchEvent({ type: "abort", target: signal });
  };
  class AbortController {
    signal = new AbortSignal();
    abort(reason) { abort(this.signal, reason); }
  }

  // --- Headers.
  class Headers {
    #values = new Map();
    constructor(init) {
      if (init === undefined || init === null) return;
      const pairs = init[Symbol.iterator] ? init : Object.entries(init);
      for (const [name, value] of pairs) this.append(name, value);
    }
    static #name(name) {
      const text = String(name).toLowerCase();
      if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(text)) throw new TypeError(`Invalid header name: ${name}`);
      return text;
    }
    static #value(value) {
      const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
      if (/[\0\r\n]/.test(text)) throw new TypeError("Invalid header value");
      return text;
    }
    append(name, value) {
      const [key, text] = [Headers.#name(name), Headers.#value(value)];
      this.#values.set(key, this.#values.has(key) ? `${this.#values.get(key)}, ${text}` : text);
    }
    set(name, value) { this.#values.set(Headers.#name(name), Headers.#value(value)); }
    get(name) { return this.#values.get(Headers.#name(name)) ?? null; }
    has(name) { return this.#values.has(Headers.#name(name)); }
    delete(name) { this.#values.delete(Headers.#name(name)); }
    getSetCookie() { return []; }
    forEach(act, self) { for (const [name, value] of this) act.call(self, value, name, this); }
    *entries() { yield* [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1)); }
    *keys() { for (const [name] of this) yield name; }
    *values() { for (const [, value] of this) yield value; }
    [Symbol.iterator]() { return this.entries(); }
  }

  // --- Bodies.
  const bytesOf = (source) => {
    if (source instanceof ArrayBuffer) return new Uint8Array(source.slice(0));
    if (ArrayBuffer.isView(source)) {
      return Uint8Array.from(new Uint8Array(source.buffer, source.byteOffset, source.byteLength));
    }
    return undefined;
  };
  const joined = (parts) => {
    const all = parts.map((part) => (typeof part === "string" ? utf8.encode(part) : part));
    const whole = new Uint8Array(all.reduce((size, part) => size + part.length, 0));
    let at = 0;
    for (const part of all) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  };
  class Blob {
    #bytes;
    type;
    constructor(parts = [], options = {}) {
      const plain = (part) => (part instanceof Blob ? part.#bytes : bytesOf(part) ?? String(part));
      this.#bytes = joined([...parts].map(plain));
      this.type = String(options.type ?? "").toLowerCase();
    }
    static bytes(blob) { return blob.#bytes; }
    get size() { return this.#bytes.length; }
    async text() { return decoder.decode(this.#bytes); }
    async arrayBuffer() { return bytesOf(this.#bytes).buffer; }
    async bytes() { return bytesOf(this.#bytes); }
    slice(start, end, type) { return new Blob([this.#bytes.slice(start, end)], { type }); }
    stream() { lacks("Blob.stream", "`text()` and `arrayBuffer()` give it whole"); }
  }
  const blobBytes = Blob.bytes;
  delete Blob.bytes;
  class File extends Blob {
    constructor(parts, name, options) {
      super(parts, options);
      this.name = String(name);
    }
  }
  class FormData {
    #fields = [];
    constructor(form) { if (form !== undefined) lacks("new FormData(form)", "there are no pages"); }
    static #field(name, value, file) {
      if (!(value instanceof Blob)) return [String(name), String(value)];
      const as = file ?? value.name ?? "blob";
      return [String(name), new File([value], as, { type: value.type })];
    }
    append(...field) { this.#fields.push(FormData.#field(...field)); }
    set(name, ...value) { this.delete(name); this.append(name, ...value); }
    delete(name) { this.#fields = this.#fields.filter(([key]) => key !== String(name)); }
    get(name) { return this.#fields.find(([key]) => key === String(name))?.[1] ?? null; }
    getAll(name) { return this.#fields.filter(([key]) => key === String(name)).map(([, value]) => value); }
    has(name) { return this.#fields.some(([key]) => key === String(name)); }
    forEach(act, self) { for (const [name, value] of this) act.call(self, value, name, this); }
    *entries() { for (const field of this.#fields) yield [...field]; }
    *keys() { for (const [name] of this) yield name; }
    *values() { for (const [, value] of this) yield value; }
    [Symbol.iterator]() { return this.entries(); }
  }
  const quoted = (name) => name.replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22");
  // A form, between lines that stand nowhere in it.
  const multipart = (form) => {
    const fields = [...form].map(([name, value]) => {
      const head = `Content-Disposition: form-data; name="${quoted(name)}"`;
      if (typeof value === "string") return [`${head}\r\n\r\n`, value.replace(/\r?\n|\r/g, "\r\n")];
      const type = value.type || "application/octet-stream";
      return [`${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`, blobBytes(value)];
    });
    const whole = Buffer.from(joined(fields.flat())).toString("latin1");
    let count = 0;
    while (whole.includes(`runner-form-${count}`)) count++;
    const line = `runner-form-${count}`;
    const parts = fields.flatMap(([head, value]) => [`--${line}\r\n${head}`, value, "\r\n"]);
    return { bytes: joined([...parts, `--${line}--\r\n`]), type: `multipart/form-data; boundary=${line}` };
  };
  // A body as what is sent: a text or bytes, and what it is.
  const content = (body) => {
    if (body === undefined || body === null) return {};
    if (body instanceof URLSearchParams) {
      return { text: String(body), type: "application/x-www-form-urlencoded;charset=UTF-8" };
    }
    if (body instanceof FormData) return multipart(body);
    if (body instanceof Blob) return { bytes: blobBytes(body), type: body.type || undefined };
    const bytes = bytesOf(body);
    if (bytes) return { bytes };
    if (typeof body === "object" && (body.getReader || body[Symbol.asyncIterator])) {
      lacks("a stream as a body", "give a text, a form or bytes");
    }
    return { text: new String(body).toWellFormed(), type: "text/plain;charset=UTF-8" };
  };
  class Body {
    #content;
    bodyUsed = false;
    constructor(content) { this.#content = content; }
    static content(of) { return of.#content; }
    get body() {
      const { text, bytes } = this.#content;
      if (text === undefined && bytes === undefined) return null;
      return lacks("body as a stream", "`text()`, `json()` and `arrayBuffer()` give it whole");
    }
    async #whole() {
      if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read");
      const { text, bytes } = this.#content;
      this.bodyUsed = text !== undefined || bytes !== undefined;
      return this.#content;
    }
    async text() {
      const { text, bytes } = await this.#whole();
      return text !== undefined ? text.replace(/^\ufeff/, "") : decoder.decode(bytes);
    }
    async json() { return JSON.parse(await this.text()); }
    async bytes() {
      const { text, bytes } = await this.#whole();
      return text !== undefined ? utf8.encode(text) : bytesOf(bytes ?? new Uint8Array());
    }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async blob() { return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" }); }
    async formData() { lacks("formData()", "`text()` gives the form as it came"); }
  }
  const contentOf = Body.content;
  delete Body.content;
  const readable = (one) => {
    if (one.bodyUsed) throw new TypeError("Body has already been read");
    return contentOf(one);
  };
  const USUAL = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH"];
  class Request extends Body {
    constructor(input, init = {}) {
      const of = input instanceof Request ? input : undefined;
      const given = init.body !== undefined ? content(init.body) : of ? readable(of) : {};
      super(given);
      let url;
      try {
        url = of ? new URL(of.url) : new URL(String(input));
      } catch {
        throw new TypeError(`Failed to parse URL from ${input}`);
      }
      if (!/^https?:$/.test(url.protocol)) lacks(`fetch of ${url.protocol}`, "it asks http and https");
      if (url.username || url.password) {
        throw new TypeError("Request cannot be constructed from a URL that includes credentials");
      }
      url.hash = "";
      this.url = url.href;
      const method = String(init.method ?? of?.method ?? "GET");
      this.method = USUAL.includes(method.toUpperCase()) ? method.toUpperCase() : method;
      if (/^(GET|HEAD)$/.test(this.method) && (given.text ?? given.bytes) !== undefined) {
        throw new TypeError("Request with GET/HEAD method cannot have body.");
      }
      this.headers = new Headers(init.headers ?? of?.headers);
      if (given.type && !this.headers.has("content-type")) this.headers.set("content-type", given.type);
      this.redirect = init.redirect ?? of?.redirect ?? "follow";
      if (this.redirect !== "follow") lacks(`fetch with redirect: '${this.redirect}'`, "redirects are followed within their origin");
      this.signal = init.signal ?? of?.signal ?? new AbortSignal();
    }
    clone() {
      readable(this);
      return new Request(this);
    }
  }
  const STATUS = {
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
    402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 409: "Conflict", 410: "Gone", 413: "Payload Too Large",
    415: "Unsupported Media Type", 422: "Unprocessable Entity", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout",
  };
  class Response extends Body {
    constructor(body, { status = 200, statusText = "", headers } = {}) {
      const given = content(body);
      super(given);
      this.status = status;
      this.statusText = statusText;
      this.headers = new Headers(headers);
      if (given.type && !this.headers.has("content-type")) this.headers.set("content-type", given.type);
      this.url = "";
      this.type = "default";
      this.redirected = false;
    }
    static json(value, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(stringify(value), { ...init, headers });
    }
    get ok() { return this.status >= 200 && this.status <= 299; }
    clone() {
      const { text, bytes } = readable(this);
      const made = new Response(bytes ?? text, this);
      return Object.assign(made, { url: this.url, type: this.type });
    }
  }

  // --- Requests on their way.
  let waiting = [];
  let answered = 0;
  const wire = (request) => {
    const { text, bytes } = contentOf(request);
    return {
      method: request.method,
      url: request.url,
      headers: [...request.headers],
      text,
      base64: bytes && base64(bytes),
      timeoutMs: request.signal[timeoutOf],
    };
  };
  const received = ({ request }, { status, headers, text, base64 }) => {
    const response = new Response(base64 === undefined ? text : Buffer.from(base64, "base64"), {
      status, statusText: STATUS[status] ?? "",
    });
    response.headers = new Headers(headers);
    return Object.assign(response, { url: request.url, type: "basic" });
  };
  const failed = ({ request }, { failed, isLate }) => {
    if (isLate && request.signal[timeoutOf] !== undefined) {
      return new DOMException("The operation was aborted due to timeout", "TimeoutError");
    }
    return new TypeError(`fetch failed: ${failed}`, { cause: new Error(failed) });
  };
  // When nothing else is left to do: nothing waits (`undefined`), answers came (`true`), or the
  // requests that wait, as JSON.
  const advance = () => {
    if (waiting.length === 0) return undefined;
    if (answered === answers.length) return stringify(waiting.map(({ request }) => wire(request)));
    const batch = waiting;
    waiting = [];
    for (const one of batch) {
      const answer = answers[answered++];
      if (answer?.url !== one.request.url) throw new Error("the answers are not those of these requests");
      if (answer.failed === undefined) one.resolve(received(one, answer));
      else one.reject(failed(one, answer));
    }
    return true;
  };
  const fetch = async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const one = { request, resolve, reject };
      waiting.push(one);
      signal.addEventListener("abort", () => {
        waiting = waiting.filter((other) => other !== one);
        reject(signal.reason);
      });
    });
  };
  const names = { AbortController, AbortSignal, Blob, File, FormData, Headers, Request, Response, fetch };
  for (const [name, value] of Object.entries(names)) define(name, value);
  return advance;
})
