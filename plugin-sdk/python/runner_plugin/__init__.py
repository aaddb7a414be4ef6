"""Graders and providers in Python: what a plugin imports. `llm` asks models, `testing` is for tests.

In a component `print` and `logging` write to the run's log, and `urllib.request` and `http.client` ask through the runner.
"""

from . import _network, _output
from ._door import IS_NATIVE
from .errors import PluginError
from .grades import Grade, grader
from .providers import Answer, provider
from .web import Response, fetch, fetch_all

__all__ = ["Answer", "Grade", "PluginError", "Response", "fetch", "fetch_all", "grader", "provider"]

if not IS_NATIVE:
    _network.install()
    _output.install()
