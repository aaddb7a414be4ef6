// What a plugin in JavaScript imports. The records of the contract are in contract.d.ts.

import type { assertion, http, meta, provider, types } from "./contract.js";

export type { assertion, http, meta, provider, types };

/** A JSON Schema. */
export type Schema = object;

/** A key that the runner adds to requests; the plugin never sees its value. A text is its variable. */
export type Credential = string | {
  /** The environment variable that usually holds it. */
  env: string;
  /** Why, for the person who grants it. */
  reason?: string;
  /** "bearer" unless said, "basic", "header:NAME", "query:NAME", and what `credential-want` in plugin.wit has. */
  scheme?: string;
  envConfigKey?: string;
  valueConfigKey?: string;
};

/** What a plugin says about itself. What it wants is a wish, which whoever runs it grants. */
export interface About {
  /** Lower-case words with hyphens between. */
  name: string;
  version?: string;
  description?: string;
  homepage?: string;
  license?: string;
  /** Origins: "https://api.example.com", "https://*.example.com". */
  hosts?: string[];
  /** The config key whose address stands in the place of `hosts`. */
  hostConfigKey?: string;
  /** By name. */
  credentials?: Record<string, Credential>;
  /** Config keys that environment variables fill, by variable. */
  settings?: Record<string, string>;
  /** Models that a grader asks: why, by name. */
  llm?: Record<string, string>;
  /** `metadata-json` of the contract, as a value. */
  metadata?: object;
}

/** What a grade is about. What is not in `reads` is empty. */
export interface Input {
  /** The assertion's type, without `not-`. */
  type: string;
  /** The assertion's value. */
  value: any;
  threshold?: number;
  config: Record<string, any>;
  /** The answer: a text as it is, anything else as JSON. */
  output: string;
  /** The answer as a value, where it is no text. */
  json?: any;
  completion?: types.Completion;
  prompt: types.Message[];
  vars: Record<string, any>;
  test: Record<string, any>;
  latencyMs?: number;
  costUsd?: number;
  context: types.CallContext;
}

/** A grade. Without `pass` the score decides: above 0, or at least the assertion's threshold. */
export interface Grade {
  pass?: boolean;
  /** From 0 to 1; without one, 1 or 0. */
  score?: number;
  reason?: string;
  namedScores?: Record<string, number>;
  components?: { name: string; pass: boolean; score?: number; weight?: number; reason?: string }[];
  metadata?: object;
}

/** What a grader's function gives: whether it holds, a score, or a grade. */
export type Graded = boolean | number | Grade;

/** An assertion type. `not-TYPE` is the opposite of what `grade` gives, unless `opposite` says it. */
export interface Type {
  grade(input: Input): Graded;
  opposite?(input: Input): Graded;
  /** What the assertion's `value` has to be: a bad one is found before anything is spent. */
  value?: Schema;
  /** What a grade sees beside the answer. */
  reads?: ("completion" | "prompt" | "vars" | "test" | "latency" | "cost")[];
}

export interface Meta {
  describe(): meta.Info;
  checkConfig(config: string): [string, string][];
}

export interface GraderPlugin {
  meta: Meta;
  assertion: { evaluate(input: assertion.Input, context: types.CallContext): assertion.Grade };
}

export interface ProviderPlugin {
  meta: Meta;
  provider: { complete(target: provider.Target, request: types.Request, context: types.CallContext): types.Completion };
}

/** A plugin of one assertion type, which has its name, or of several. */
export function defineGrader(definition: About & (Type | { types: Record<string, Type> })): GraderPlugin;

/** What a provider is asked. */
export interface Question {
  prompt: string;
  messages: types.Message[];
  /** The provider's id, and what follows its prefix. */
  id: string;
  model: string;
  config: Record<string, any>;
  temperature?: number;
  topP?: number;
  maxTokens?: number;
  seed?: number;
  stop: string[];
  responseSchema?: Schema;
  tools?: any[];
  options: Record<string, any>;
  timeoutMs?: number;
  context: types.CallContext;
}

/** What a provider answers: a text, or more than that. */
export type Answer = string | {
  text?: string;
  /** A value that is no text. */
  output?: any;
  /** Tokens. */
  usage?: { input?: number; output?: number; total?: number; cacheRead?: number; cacheWrite?: number; reasoning?: number; other?: Record<string, number> };
  /** In US dollars, if the server says so. */
  cost?: number;
  model?: string;
  /** "stop", "length", "tool-calls", "refusal", "content-filter", or the server's own word. */
  finish?: string;
  /** The server's answer. */
  raw?: any;
  metadata?: object;
};

/** A plugin that answers prompts for ids that begin with its name. */
export function defineProvider(definition: About & {
  complete(question: Question): Answer;
  /** What ids begin with; the name, if it is left out. */
  prefixes?: string[];
  /** What the provider's `config` has to be. */
  config?: Schema;
  /** What is wrong with a config beyond that: places ("/model") and words. */
  check?(config: any): [string, string][];
}): ProviderPlugin;

/** An error with a code, by which the runner decides whether the request is sent again. */
export class PluginError extends Error {
  constructor(code: types.ErrorCode, message: string, more?: { status?: number; retryAfterMs?: number; detail?: any });
  code: types.ErrorCode;
  status?: number;
  retryAfterMs?: number;
  detail?: any;
}

export interface Init {
  /** GET, or POST where there is a body. */
  method?: string;
  headers?: Record<string, string> | Iterable<[string, string]>;
  body?: string | Uint8Array | URLSearchParams;
  /** The name of a key that the runner adds. */
  credential?: string;
  /** What shares a rate limit, usually the model. */
  bucket?: string;
  timeoutMs?: number;
  /** Neither reads nor writes what the runner remembers. */
  cache?: "no-store";
}

export interface Headers extends Iterable<[string, string]> {
  get(name: string): string | null;
  has(name: string): boolean;
  forEach(act: (value: string, name: string) => void): void;
  entries(): Iterator<[string, string]>;
}

export interface Response {
  url: string;
  status: number;
  ok: boolean;
  headers: Headers;
  /** Remembered by the runner, or recorded. */
  cached: boolean;
  text(): string;
  json(): any;
  bytes(): Uint8Array;
  arrayBuffer(): ArrayBuffer;
  /** Itself if its status is 2xx, else a `PluginError` of what the status means. */
  orThrow(): Response;
}

/** Sends a request through the runner. The answer is there at once: no `await`. */
export function fetch(url: string | URL, init?: Init): Response;

/** Sends several at once; in the place of one that failed is its error. */
export function fetchAll(requests: (string | URL | [string | URL, Init])[]): (Response | PluginError)[];
