// What code expects of every JavaScript and QuickJS lacks. Where there is one already, that is kept.

import { emit } from "#host";

import { fetch } from "./fetch.js";
import { TextDecoder, TextEncoder, structuredClone } from "./texts.js";
import { URL, URLSearchParams } from "./url.js";

const plain = (key, value) => {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `[Function: ${value.name}]`;
  if (value instanceof Map) return Object.fromEntries(value);
  return value instanceof Set ? [...value] : value;
};

function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value}\n${value.stack ?? ""}`.trim();
  try {
    return JSON.stringify(value, plain) ?? String(value);
  } catch {
    return String(value);
  }
}

/** A console whose lines are the log's. */
export function consoleOf(write) {
  const at = (level) => (...words) => write(level, words.map(shown).join(" "), []);
  const assert = (holds, ...words) => holds || at("error")("Assertion failed", ...words);
  return { log: at("info"), info: at("info"), debug: at("debug"), trace: at("trace"), warn: at("warn"), error: at("error"), dir: at("info"), assert };
}

/** Nothing runs after a call, so what is put off would never come. */
const never = (name) => [name, () => {
  throw new Error(`${name}: nothing runs later in a plugin, where every call is done when it returns`);
}];
const lacking = {
  console: consoleOf(emit), TextDecoder, TextEncoder, structuredClone, URL, URLSearchParams, fetch,
  ...Object.fromEntries(["setTimeout", "setInterval", "setImmediate"].map(never)),
};
for (const [name, value] of Object.entries(lacking)) globalThis[name] ??= value;
