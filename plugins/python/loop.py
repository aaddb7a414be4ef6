"""Coroutines, run to their end in time that passes at once.

The interpreter's own event loop waits on sockets, which are not there. This one has nothing to
wait for but its own timers, so it moves its clock to the next of them: `asyncio.sleep` takes no
time, and the order of things is as it would be. What waits for anything else is stuck, and said so.
"""

import asyncio

import faults


class Instant:
    """What the loop asks for events, with the clock that it moves."""

    def __init__(self):
        self.now = 0.0

    def select(self, timeout):
        if timeout is None:
            raise faults.Stuck("the code waits for something that never comes")
        self.now += max(timeout, 0.0)
        return []


class Loop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Instant()

    def time(self):
        return self._selector.now

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass


def run(coroutine):
    """The value of a coroutine."""
    return asyncio.run(coroutine)


# What `asyncio.run` asks for one.
asyncio.new_event_loop = asyncio.events.new_event_loop = Loop
