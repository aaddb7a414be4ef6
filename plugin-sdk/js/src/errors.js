// What goes wrong, as the runner takes it: a code that it acts on, and a line for people.

import { emit } from "#host";

/** An error with a code of the contract, which decides whether a request is sent again. */
export class PluginError extends Error {
  constructor(code, message, { status, retryAfterMs, detail } = {}) {
    super(message);
    this.name = "PluginError";
    Object.assign(this, { code, status, retryAfterMs, detail });
  }
}

/** An error of the contract as one to throw. */
export const errorOf = ({ code, message, status, retryAfterMs, detailJson }) =>
  new PluginError(code, message, {
    status: status ?? undefined,
    retryAfterMs: retryAfterMs ?? undefined,
    detail: detailJson ? JSON.parse(detailJson) : undefined,
  });

/** Calls the host; what that refuses is a `PluginError`. */
export function hosted(act) {
  try {
    return act();
  } catch (error) {
    throw error?.payload?.code ? errorOf(error.payload) : error;
  }
}

const frames = (stack) => [...String(stack ?? "").matchAll(/\(?((?:file:\/\/)?[^\s()]+):(\d+):\d+\)?$/gm)];
/** Where these files are: a place in them is of no use to an author. */
const HERE = (frames(new Error().stack)[0]?.[1] ?? "").replace(/[^/]*$/, "");

/** The innermost place of the author's own code, as `file:line`. */
function place(error) {
  const own = frames(error.stack).find(([, path]) => HERE === "" || !path.startsWith(HERE));
  return own ? ` (${own[1].replace(/^(file:\/\/)?\//, "")}:${own[2]})` : "";
}

/** What was thrown, as the contract has it. An exception becomes a line with its file and line. */
export function failure(thrown) {
  if (thrown instanceof PluginError) {
    const { code, message, status, retryAfterMs, detail } = thrown;
    return { code, message, status, retryAfterMs, detailJson: detail === undefined ? undefined : JSON.stringify(detail) };
  }
  if (!(thrown instanceof Error)) return { code: "other", message: `it threw ${String(thrown)}` };
  if (thrown.stack) emit("debug", `${thrown}\n${thrown.stack}`, []);
  return { code: "other", message: `${thrown}${place(thrown)}`.replace(/\s*\n\s*/g, " ") };
}

/** Calls the author's code; what it throws is an error of the contract. */
export function guarded(act) {
  try {
    return act();
  } catch (thrown) {
    throw failure(thrown);
  }
}
