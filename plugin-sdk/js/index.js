// Graders and providers in JavaScript: what a plugin imports. `llm.js` asks models, `testing.js` is for tests.

import "./src/globals.js";

export { PluginError } from "./src/errors.js";
export { fetch, fetchAll } from "./src/fetch.js";
export { defineGrader } from "./src/grader.js";
export { defineProvider } from "./src/provider.js";
