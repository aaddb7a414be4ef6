// UTF-8 and copies of values, for QuickJS.

const CHUNK = 8192;

/** Bytes as the text whose characters they are. */
function latin(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode.apply(null, bytes.subarray(at, at + CHUNK));
  }
  return text;
}

/** How many bytes after `at` belong to what begins there; -1 where nothing may begin so. */
function following(bytes, at) {
  const [first, second] = [bytes[at], bytes[at + 1]];
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) {
    return (first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f) ? -1 : 2;
  }
  if (first >= 0xf0 && first < 0xf5) {
    return (first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f) ? -1 : 3;
  }
  return -1;
}

/** Bytes that are not all UTF-8, with U+FFFD for each part that is not. */
function mended(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at++) {
    const wanted = following(bytes, at);
    let got = 0;
    while (got < wanted && (bytes[at + got + 1] & 0xc0) === 0x80) got++;
    text += wanted >= 0 && got === wanted
      ? decodeURIComponent(escape(latin(bytes.subarray(at, at + wanted + 1))))
      : "\ufffd";
    at += got;
  }
  return text;
}

function bytesOf(source = new Uint8Array()) {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return new Uint8Array(source);
}

export class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") {
    const raw = unescape(encodeURIComponent(String(text).toWellFormed()));
    const bytes = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
    return bytes;
  }
}

export class TextDecoder {
  #fatal;
  #keepsMark;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) throw new RangeError(`there is no TextDecoder for '${label}' here, only for utf-8`);
    this.#fatal = fatal;
    this.#keepsMark = ignoreBOM;
  }
  get encoding() { return "utf-8"; }
  decode(source, { stream = false } = {}) {
    if (stream) throw new TypeError("TextDecoder.decode does not know 'stream' here: give it all bytes");
    const bytes = bytesOf(source);
    let text;
    try {
      text = decodeURIComponent(escape(latin(bytes)));
    } catch {
      if (this.#fatal) throw new TypeError("The encoded data was not valid for encoding utf-8");
      text = mended(bytes);
    }
    return text.startsWith("\ufeff") && !this.#keepsMark ? text.slice(1) : text;
  }
}

function copy(value, known) {
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
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    return keep(new value.constructor(copy(value.buffer, known), value.byteOffset, value.length ?? value.byteLength));
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
  if (value instanceof Error) return keep(Object.assign(new Error(value.message), { name: value.name, stack: value.stack }));
  const made = keep(Array.isArray(value) ? new Array(value.length) : {});
  for (const key of Object.keys(value)) made[key] = copy(value[key], known);
  return made;
}

export const structuredClone = (value) => copy(value, new Map());
