// Questions to models, for graders. It is apart, since the world of a provider has no such import.

import * as host from "#models";

import { errorOf, hosted } from "./src/errors.js";
import { dropNull } from "./src/records.js";

const textOf = (completion) =>
  completion.outputJson ?? completion.message.content.map((part) => (part.tag === "text" ? part.val : "")).join("");

const wire = (question) => {
  const { prompt, messages, stop = [], responseSchema, tools, options, ...rest } =
    typeof question === "string" ? { prompt: question } : question;
  const json = (value) => (value === undefined ? undefined : JSON.stringify(value));
  return {
    prompt: prompt ?? "",
    messages: messages ?? [{ role: "user", content: [{ tag: "text", val: prompt }] }],
    stop,
    responseSchemaJson: json(responseSchema),
    toolsJson: json(tools),
    optionsJson: json(options),
    ...rest,
  };
};

const answer = ({ completion, ...rest }) => dropNull({ text: textOf(completion), completion, ...rest });

/** Asks the model behind a name one question. */
export const complete = (alias, question) => hosted(() => answer(host.complete(alias, wire(question))));

/** Asks it several at once; the answers are in order, an error in the place of one that failed. */
export const completeAll = (alias, questions) =>
  host.completeAll(alias, questions.map(wire)).map(({ tag, val }) => (tag === "ok" ? answer(val) : errorOf(val)));

/** A vector of each text. */
export const embed = (alias, texts) => hosted(() => host.embed(alias, texts));
