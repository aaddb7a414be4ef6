// Timers whose time is virtual: nothing waits. When all that is ready has run and a promise is
// still awaited, the clock moves to the earliest timer and runs it (`run_timer`).
(function (host) {
  "use strict";
  const { define, now, advance } = host;
  // By what they are due at, in milliseconds; equal ones in the order in which they were set.
  const waiting = [];
  let count = 0;

  class Timeout {
    #id = ++count;
    ref() { return this; }
    unref() { return this; }
    hasRef() { return true; }
    refresh() { return this; }
    close() { cancel(this); return this; }
    [Symbol.toPrimitive]() { return this.#id; }
  }
  const insert = (timer) => {
    let at = waiting.length;
    while (at > 0 && waiting[at - 1].due > timer.due) at--;
    waiting.splice(at, 0, timer);
  };
  const set = (act, ms, least, again, values) => {
    if (typeof act !== "function") {
      throw new TypeError('The "callback" argument must be of type function.');
    }
    const wanted = Number(ms);
    const delay = wanted >= least && wanted <= 2147483647 ? Math.trunc(wanted) : least;
    const handle = new Timeout();
    insert({ handle, act, delay, again, values, due: now() + delay });
    return handle;
  };
  const cancel = (handle) => {
    if (handle == null) return;
    const at = waiting.findIndex((timer) => timer.handle === handle || +timer.handle === +handle);
    if (at >= 0) waiting.splice(at, 1);
  };
  // Runs the earliest timer; false if there is none.
  host.runTimer = () => {
    const timer = waiting.shift();
    if (!timer) return false;
    advance(timer.due);
    if (timer.again) insert({ ...timer, due: timer.due + timer.delay });
    timer.act(...timer.values);
    return true;
  };

  const timers = {
    setTimeout: (act, ms, ...values) => set(act, ms, 1, false, values),
    setInterval: (act, ms, ...values) => set(act, ms, 1, true, values),
    setImmediate: (act, ...values) => set(act, 0, 0, false, values),
    clearTimeout: cancel, clearInterval: cancel, clearImmediate: cancel,
  };
  for (const [name, timer] of Object.entries(timers)) define(globalThis, name, timer);
  const wait = (ms, value) => new Promise((resolve) => timers.setTimeout(resolve, ms, value));
  host.builtins.set("timers", timers);
  host.builtins.set("timers/promises", {
    setTimeout: wait,
    setImmediate: (value) => new Promise((resolve) => timers.setImmediate(resolve, value)),
  });
})
