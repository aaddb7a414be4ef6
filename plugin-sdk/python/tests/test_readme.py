"""The plugins of the README are ones."""

import re
import types
import unittest
from pathlib import Path

from runner_plugin.testing import call

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def plugin(decorator):
    """The module that a block is."""
    module = types.ModuleType("app")
    exec(next(block for block in BLOCKS if f"\n{decorator}" in block), module.__dict__)
    return module


class Plugins(unittest.TestCase):
    def test_the_grader_grades(self):
        shouting = plugin("@grader")
        self.assertEqual([call(shouting, output=output).grade.pass_ for output in ("HI", "Hi")], [True, False])

    def test_the_provider_asks(self):
        exchange = {"request": {"method": "POST", "url": "https://api.acme.com/ask"}, "response": {"json": {"answer": "4"}}}
        self.assertEqual(call(plugin("@provider"), provider="acme:m1", prompt="2 + 2?", exchanges=[exchange]).text, "4")
