// What the runner gives every plugin. In Node.js `native.js` stands for it.

export { send, sendAll } from "runner:plugin/http";
export { emit } from "runner:plugin/log";
