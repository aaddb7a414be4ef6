// Questions to models, for graders.

import type { types } from "./contract.js";
import type { PluginError, Schema } from "./index.js";

export interface ModelAnswer {
  text: string;
  completion: types.Completion;
  /** The provider behind the name. */
  providerId: string;
  cached: boolean;
  costUsd?: number;
}

export type ModelQuestion = string | {
  prompt?: string;
  messages?: types.Message[];
  temperature?: number;
  topP?: number;
  maxTokens?: number;
  seed?: number;
  stop?: string[];
  responseSchema?: Schema;
  tools?: any[];
  options?: object;
  timeoutMs?: number;
};

/** Asks the model behind a name of `llm` one question. */
export function complete(alias: string, question: ModelQuestion): ModelAnswer;
/** Asks it several at once; in the place of one that failed is its error. */
export function completeAll(alias: string, questions: ModelQuestion[]): (ModelAnswer | PluginError)[];
/** A vector of each text. */
export function embed(alias: string, texts: string[]): number[][];
