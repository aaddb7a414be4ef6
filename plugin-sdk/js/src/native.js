// What stands for the runner in Node.js: a script that says what a plugin will ask, and is told.

/** The script that plays; outside one nothing can be asked. */
let stage;

/** Plays a script while `act` runs; gives what it gave. */
export function playing(script, act) {
  const before = stage;
  stage = script;
  try {
    return act();
  } finally {
    stage = before;
  }
}

const onStage = (what) => {
  if (!stage) throw new Error(`${what} outside a test's call(): there is no runner to ask`);
  return stage;
};
const refused = (record) => Object.assign(new Error(record.message), { payload: record });
const all = (act) => (asked) => asked.map((one) => {
  try {
    return { tag: "ok", val: act(one) };
  } catch (error) {
    if (!error.payload) throw error;
    return { tag: "err", val: error.payload };
  }
});

export const emit = (level, message) => void stage?.log.push({ level, message });

export function send(request) {
  const { response, error } = onStage(`the request ${request.method} ${request.url}`).exchange(request);
  if (error) throw refused(error);
  return response;
}
export const sendAll = all(send);

export function complete(alias, request) {
  const said = onStage(`the question to '${alias}'`).answer(alias, request);
  if (said instanceof Error) throw refused(said);
  const message = { role: "assistant", content: [{ tag: "text", val: said }] };
  return { completion: { message, usage: { other: [] } }, providerId: alias, cached: false };
}
export const completeAll = (alias, requests) => all((request) => complete(alias, request))(requests);

export const embed = (alias, texts) => onStage(`the vectors of '${alias}'`).vectors(alias, texts);

