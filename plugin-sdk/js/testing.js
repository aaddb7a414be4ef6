// Tests of a plugin in Node.js, without WebAssembly and without a runner: `call` asks it once, against a script.
//
// What the plugin asks that the script does not have, what it leaves out of it, and what it uses and does not say
// that it wants are errors of the test.

import { errorOf } from "./src/errors.js";
import { consoleOf } from "./src/globals.js";
import { fetch } from "./src/fetch.js";
import { playing } from "./src/native.js";
import { onlyKnown, written } from "./src/records.js";

/** Names of judges that every assertion has, wanted or not. */
const JUDGES = ["grader", "embedding", "classifier", "moderation"];
const SCRIPT = ["exchanges", "models", "vectors"];
const GRADE = ["type", "value", "threshold", "config", "output", "json", "completion", "prompt", "vars", "test", "latencyMs", "costUsd", "context"];
const ASK = ["provider", "prompt", "messages", "config", "temperature", "topP", "maxTokens", "seed", "stop", "responseSchema", "tools", "options", "timeoutMs", "context"];
const CONTEXT = { callId: "0000000000000000", attempt: 1, testIndex: 0, repeatIndex: 0, labels: [] };

const messages = (prompt) =>
  typeof prompt === "string" ? [{ role: "user", content: [{ tag: "text", val: prompt }] }] : prompt;

/** A grant of the form `https://*.example.com` covers an address. */
const covers = (host, url) => {
  const [wanted, asked] = [new URL(host.replace("*.", "")), new URL(url)];
  const isBelow = host.includes("*.") ? asked.hostname.endsWith(`.${wanted.hostname}`) : asked.hostname === wanted.hostname;
  return isBelow && asked.protocol === wanted.protocol && asked.port === wanted.port;
};

const bytes = ({ json, text, body = json === undefined ? text ?? "" : JSON.stringify(json) }) =>
  typeof body === "string" ? new TextEncoder().encode(body) : body;

/** The host that the script makes. */
class Stage {
  log = [];
  requests = [];
  asked = [];
  constructor({ exchanges = [], models = {}, vectors = {} }, wants) {
    Object.assign(this, { left: [...exchanges], models, given: vectors, wants });
  }
  /** What the test has to fail of, whatever the plugin makes of it. */
  fail(message) {
    this.wrong ??= new Error(message);
    throw this.wrong;
  }
  exchange(request) {
    const { method, url, credential } = request;
    const { hosts, hostConfigKey, credentials } = this.wants;
    if (!hostConfigKey && !hosts.some((host) => covers(host, url))) this.fail(`'hosts' lacks ${new URL(url).origin}, which is asked`);
    if (credential && !credentials.some(({ name }) => name === credential)) this.fail(`'credentials' lacks '${credential}', which is used`);
    const text = request.body && new TextDecoder().decode(request.body);
    this.requests.push({ ...request, text, get json() { return text && JSON.parse(text); } });
    const next = this.left.shift();
    if (!next) this.fail(`the script has no exchange left for ${method} ${url}`);
    const wanted = next.request ?? {};
    if ((wanted.method ?? method) !== method || (wanted.url ?? url) !== url) {
      this.fail(`the script has ${wanted.method ?? ""} ${wanted.url ?? ""} next, and the plugin asked ${method} ${url}`);
    }
    if (next.error) return { error: next.error };
    const { status = 200, headers = {}, ...body } = next.response;
    return { response: { status, headers: Object.entries(headers), body: bytes(body), cached: false } };
  }
  alias(name) {
    if (!JUDGES.includes(name) && !this.wants.llm.some(([alias]) => alias === name)) this.fail(`'llm' lacks '${name}', which is asked`);
  }
  answer(alias, request) {
    this.alias(alias);
    this.asked.push({ alias, ...request });
    const model = this.models[alias] ?? this.fail(`the script has no model '${alias}'`);
    return typeof model === "function" ? model(request) : model;
  }
  vectors(alias, texts) {
    this.alias(alias);
    const vectors = this.given[alias] ?? this.fail(`the script has no vectors of '${alias}'`);
    return typeof vectors === "function" ? vectors(texts) : vectors;
  }
}

function play(stage, act) {
  const { console, fetch: before } = globalThis;
  const own = consoleOf((level, message) => stage.log.push({ level, message }));
  globalThis.console = { ...console, ...own };
  globalThis.fetch = fetch;
  let result;
  let failed;
  try {
    result = playing(stage, act);
  } catch (error) {
    failed = typeof error?.code === "string" && !(error instanceof Error) ? errorOf(error) : error;
  } finally {
    Object.assign(globalThis, { console, fetch: before });
  }
  if (stage.wrong) throw stage.wrong;
  if (failed) throw failed;
  const { left, log, requests, asked } = stage;
  if (left.length) throw new Error(`the plugin left out ${left.length} exchanges of the script`);
  return [result, { log, requests, asked }];
}

function grade(plugin, { types, request, stage }) {
  onlyKnown("a grade's call", request, [...GRADE, ...SCRIPT]);
  const { type = types[0]?.name, value, config, json, prompt = [], vars, test, context, threshold, output = "", completion, latencyMs, costUsd } = request;
  const name = type.replace(/^not-/, "");
  if (!types.some((known) => known.name === name)) throw new Error(`the plugin has no type '${name}'`);
  const input = {
    type: name, inverse: name !== type, output, prompt: messages(prompt), threshold, completion, latencyMs, costUsd,
    valueJson: written(value), configJson: written(config), outputJson: written(json), varsJson: written(vars), testJson: written(test),
  };
  const [said, played] = play(stage, () => plugin.assertion.evaluate(input, { ...CONTEXT, ...context }));
  return { grade: { ...said, namedScores: Object.fromEntries(said.namedScores) }, ...played };
}

function ask(plugin, { request, stage }) {
  onlyKnown("a completion's call", request, [...ASK, ...SCRIPT]);
  const { provider: id, prompt = "", config = {}, responseSchema, tools, options, context, exchanges, models, vectors, ...rest } = request;
  const target = { id, name: id.replace(/^[^:]*:?/, ""), configJson: JSON.stringify(config) };
  const asked = { stop: [], messages: messages(prompt), prompt, ...rest, responseSchemaJson: written(responseSchema), toolsJson: written(tools), optionsJson: written(options) };
  const [said, played] = play(stage, () => plugin.provider.complete(target, asked, { ...CONTEXT, ...context }));
  const text = said.message.content.map((part) => part.val).join("");
  return { completion: { ...said, text }, ...played };
}

/** Asks a plugin for one grade or completion; what it refuses is thrown as a `PluginError`. */
export function call(plugin, request) {
  const { wants, assertionTypes } = plugin.meta.describe();
  const stage = new Stage(request, wants);
  const asked = { types: assertionTypes, request, stage };
  return request.provider === undefined ? grade(plugin, asked) : ask(plugin, asked);
}
