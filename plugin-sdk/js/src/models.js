// The models that the runner gives a grader. In Node.js `native.js` stands for it.

export { complete, completeAll, embed } from "runner:plugin/llm";
