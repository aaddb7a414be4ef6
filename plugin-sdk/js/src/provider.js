// A provider: a function that answers a prompt, and what the contract asks for around it.

import { COMMON, info, meta } from "./describe.js";
import { guarded } from "./errors.js";
import { dropNull, onlyKnown, parsed, settled, written } from "./records.js";

const OWN = ["prefixes", "config", "check", "complete"];
const ANSWER = ["text", "output", "usage", "cost", "model", "finish", "raw", "metadata"];
const USAGE = { input: "inputTokens", output: "outputTokens", total: "totalTokens", cacheRead: "cacheReadTokens", cacheWrite: "cacheWriteTokens", reasoning: "reasoningTokens" };
const FINISH = ["stop", "length", "tool-calls", "refusal", "content-filter"];

function asked(target, request, context) {
  const { responseSchemaJson, toolsJson, optionsJson, ...rest } = dropNull(request);
  return {
    ...rest,
    id: target.id,
    model: target.name,
    config: JSON.parse(target.configJson),
    responseSchema: parsed(responseSchemaJson),
    tools: parsed(toolsJson),
    options: parsed(optionsJson) ?? {},
    context,
  };
}

function counted({ other = {}, ...usage } = {}) {
  onlyKnown("usage", usage, Object.keys(USAGE));
  const known = Object.entries(usage).map(([name, count]) => [USAGE[name], count]);
  return { ...Object.fromEntries(known), other: Object.entries(other) };
}

function completion(said) {
  const told = typeof settled("complete", said) === "string" ? { text: said } : said;
  if (typeof told !== "object" || told === null) {
    throw new TypeError(`complete gave ${told === null ? "null" : typeof told}, and not a text or { text, usage }`);
  }
  onlyKnown("what complete gave", told, ANSWER);
  const { text, output, usage, cost, model, finish, raw, metadata } = told;
  if (text === undefined && output === undefined) throw new TypeError("complete gave neither text nor output");
  return {
    message: { role: "assistant", content: text === undefined ? [] : [{ tag: "text", val: String(text) }] },
    outputJson: written(output),
    finishReason: finish && (FINISH.includes(finish) ? { tag: finish } : { tag: "other", val: finish }),
    usage: counted(usage),
    costUsd: cost,
    model,
    rawJson: typeof raw === "string" ? raw : written(raw),
    metadataJson: written(metadata),
  };
}

/** A plugin that answers prompts for ids that begin with its name. */
export function defineProvider(definition) {
  onlyKnown("defineProvider", definition, [...COMMON, ...OWN]);
  const { name, prefixes = [name], config, check, complete } = definition;
  if (typeof complete !== "function") throw new TypeError("defineProvider has no function 'complete'");
  const answer = (target, request, context) => guarded(() => completion(complete(asked(target, request, context))));
  return { meta: meta(info(definition, prefixes, [], config), check), provider: { complete: answer } };
}
