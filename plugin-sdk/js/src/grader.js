// A grader: a function that says of an answer whether it is one, and what the contract asks for around it.

import { COMMON, info, meta } from "./describe.js";
import { guarded } from "./errors.js";
import { onlyKnown, parsed, settled, written } from "./records.js";

const TYPE = ["value", "reads", "grade", "opposite"];
const READS = ["completion", "prompt", "vars", "test", "latency", "cost"];
const GRADE = ["pass", "score", "reason", "namedScores", "components", "metadata"];

const seen = (input, context) => ({
  type: input.type,
  value: parsed(input.valueJson),
  threshold: input.threshold ?? undefined,
  config: parsed(input.configJson) ?? {},
  output: input.output,
  json: parsed(input.outputJson),
  completion: input.completion ?? undefined,
  prompt: input.prompt,
  vars: parsed(input.varsJson) ?? {},
  test: parsed(input.testJson) ?? {},
  latencyMs: input.latencyMs ?? undefined,
  costUsd: input.costUsd ?? undefined,
  context,
});

/** What the author's function gave, as an object. A number passes as it does in a config's own code. */
function spread(said, threshold) {
  if (typeof said === "boolean") return { pass: said };
  const told = typeof said === "number" ? { score: said } : said;
  if (typeof told !== "object" || told === null) {
    throw new TypeError(`grade gave ${told === null ? "null" : typeof told}, and not true or false, a number or { pass, score, reason }`);
  }
  onlyKnown("what grade gave", told, GRADE);
  if (told.pass !== undefined) return told;
  if (typeof told.score !== "number") throw new TypeError("grade gave neither pass nor score");
  return { ...told, pass: threshold === undefined ? told.score > 0 : told.score >= threshold };
}

function graded(said, threshold, isTurned) {
  const told = spread(settled("grade", said), threshold);
  const score = told.score ?? (told.pass ? 1 : 0);
  if (!Number.isFinite(score)) throw new TypeError(`the score is ${score}`);
  const pass = Boolean(told.pass) !== isTurned;
  const part = ({ name, pass, score, weight = 1, reason = "" }) => ({ name, pass, score: score ?? (pass ? 1 : 0), weight, reason });
  return {
    pass,
    score: isTurned ? 1 - score : score,
    reason: told.reason ?? `Assertion ${pass ? "passed" : "failed"}`,
    namedScores: Object.entries(told.namedScores ?? {}),
    components: (told.components ?? []).map(part),
    metadataJson: written(told.metadata),
  };
}

/** A plugin of one assertion type, which has its name, or of several. */
export function defineGrader(definition) {
  const { types = { [definition.name]: definition } } = definition;
  onlyKnown("defineGrader", definition, [...COMMON, "types", ...(definition.types ? [] : TYPE)]);
  for (const [name, type] of Object.entries(types)) {
    if (definition.types) onlyKnown(`the type '${name}'`, type, TYPE);
    if (typeof type.grade !== "function") throw new TypeError(`the type '${name}' has no function 'grade'`);
  }
  const described = Object.entries(types).map(([name, { value, reads = [] }]) => {
    const odd = reads.find((part) => !READS.includes(part));
    if (odd) throw new TypeError(`reads has no '${odd}'; it has ${READS.join(", ")}`);
    return { name, valueSchemaJson: written(value), reads: Object.fromEntries(READS.map((part) => [part, reads.includes(part)])) };
  });
  const evaluate = (input, context) => guarded(() => {
    const { grade, opposite } = types[input.type];
    const threshold = input.threshold ?? undefined;
    if (input.inverse && opposite) return graded(opposite(seen(input, context)), threshold, false);
    return graded(grade(seen(input, context)), threshold, input.inverse);
  });
  return { meta: meta(info(definition, [], described)), assertion: { evaluate } };
}
