// Tests of a plugin in Node.js, without WebAssembly and without a runner.

import type { assertion, log, types } from "./contract.js";
import type { GraderPlugin, ProviderPlugin } from "./index.js";

/** What the plugin will ask, in order, and is told. */
export interface Script {
  exchanges?: {
    request?: { method?: string; url?: string };
    response?: { status?: number; headers?: Record<string, string>; json?: any; text?: string; body?: Uint8Array };
    error?: { code: types.ErrorCode; message: string };
  }[];
  /** What models say, by name. */
  models?: Record<string, string | ((request: types.Request) => string)>;
  vectors?: Record<string, number[][] | ((texts: string[]) => number[][])>;
}

/** What it did. */
export interface Played {
  log: { level: log.Level; message: string }[];
  requests: { method: string; url: string; headers: [string, string][]; text?: string; json?: any; credential?: string; bucket?: string }[];
  asked: ({ alias: string } & types.Request)[];
}

/** Asks a plugin for one grade; what it refuses is thrown as a `PluginError`. */
export function call(plugin: GraderPlugin, request: Script & {
  /** Its first type, unless said; `not-TYPE` is the opposite. */
  type?: string;
  value?: any;
  output?: string;
  json?: any;
  threshold?: number;
  config?: object;
  vars?: object;
  test?: object;
  prompt?: string | types.Message[];
  completion?: types.Completion;
  latencyMs?: number;
  costUsd?: number;
  context?: Partial<types.CallContext>;
}): Played & { grade: Omit<assertion.Grade, "namedScores"> & { namedScores: Record<string, number> } };

/** Asks a plugin for one completion. */
export function call(plugin: ProviderPlugin, request: Script & {
  provider: string;
  prompt?: string;
  messages?: types.Message[];
  config?: object;
  temperature?: number;
  topP?: number;
  maxTokens?: number;
  seed?: number;
  stop?: string[];
  responseSchema?: object;
  tools?: any[];
  options?: object;
  timeoutMs?: number;
  context?: Partial<types.CallContext>;
}): Played & { completion: types.Completion & { text: string } };
