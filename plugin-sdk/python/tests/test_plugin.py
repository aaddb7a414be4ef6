"""What authors write, and what the runner gets of it."""

import http.client
import json
import logging
import types
import unittest
import urllib.error
import urllib.request

from runner_plugin import Answer, Grade, PluginError, fetch, fetch_all, grader, provider
from runner_plugin.llm import complete
from runner_plugin.testing import call

HOST = "https://api.example.com"


def plugin(decorate, function):
    """A module that has the function alone."""
    module = types.ModuleType("mine")
    scope = dict(function.__globals__)
    alone = types.FunctionType(function.__code__, scope, function.__name__, None, function.__closure__)
    decorate(alone)
    module.__dict__.update(scope)
    return module


def grading(function, **more):
    return plugin(grader("mine", **more), function)


class Grades(unittest.TestCase):
    def test_what_a_function_gives_becomes_a_grade(self):
        for gives, request, wanted in [
            (True, {}, (True, 1.0, "Assertion passed")),
            (False, {"type": "not-mine"}, (True, 1.0, "Assertion passed")),
            (0.25, {}, (True, 0.25, "Assertion passed")),
            (0.25, {"threshold": 0.5}, (False, 0.25, "Assertion failed")),
            (Grade(False, 0.5, "so"), {"type": "not-mine"}, (True, 0.5, "so")),
        ]:
            grade = call(grading(lambda: gives), **request).grade
            self.assertEqual((grade.pass_, grade.score, grade.reason), wanted)
        own = grading(lambda: True, opposite=lambda output: Grade(False, reason=output))
        self.assertEqual(call(own, type="not-mine", output="own").grade.reason, "own")

    def test_a_function_is_given_what_it_names(self):
        def mine(value, vars, output, threshold, config):
            return (value, vars, output, threshold, config) == ({"most": 2}, {"a": 1}, "x", None, {})

        module = grading(mine, value={"type": "object"})
        self.assertTrue(call(module, value={"most": 2}, vars={"a": 1}, output="x").grade.pass_)
        (kind,) = module.Meta().describe().assertion_types
        self.assertEqual((kind.value_schema_json, kind.reads.name), ('{"type": "object"}', "VARS"))

    def test_an_exception_says_where_it_was_raised(self):
        for wrong, message in [
            (lambda: {}["a"], r"^KeyError: 'a' \(.*test_plugin\.py:\d+\)$"),
            (lambda: json.loads("x"), r"^JSONDecodeError: .* \(.*test_plugin\.py:\d+\)$"),
            (lambda: None, "it gave None"),
            (lambda: float("nan"), "the score is nan"),
        ]:
            with self.assertRaisesRegex(PluginError, message) as raised:
                call(grading(wrong))
            self.assertEqual(raised.exception.code, "other")

        async def later():
            return True

        with self.assertRaisesRegex(PluginError, "leave out 'async'"):
            call(grading(later))

    def test_a_slip_in_a_definition_is_found_when_it_is_built(self):
        for more, function, message in [
            ({"host": []}, lambda: True, "has no 'host'"),
            ({"credentials": {"k": {"environment": "K"}}}, lambda: True, "has no 'environment'"),
            ({}, lambda outptu: True, "can't be given 'outptu'"),
        ]:
            with self.assertRaisesRegex(TypeError, message):
                grading(function, **more)
        with self.assertRaisesRegex(ValueError, "there is no code 'slow'"):
            PluginError("slow", "no")

    def test_lines_are_logged(self):
        def mine():
            print("one", 2, "\nthree", end="")
            logging.getLogger("a").warning("four %s", 4)
            return True

        self.assertEqual(call(grading(mine)).log, [("info", "one 2 "), ("warn", "four 4"), ("info", "three")])

    def test_a_grader_asks_a_model(self):
        judge = grading(lambda output: complete("judge", f"Kind? {output}").text == "yes", llm={"judge": "says so"})
        played = call(judge, output="thanks", models={"judge": "yes"})
        self.assertEqual((played.grade.pass_, played.asked[0][1].prompt), (True, "Kind? thanks"))


def ask(prompt, model):
    reply = fetch(f"{HOST}/ask", json={"prompt": prompt}, credential="key", bucket=model).or_raise().json()
    return Answer(reply["answer"], usage=reply.get("usage", {}), finish="stop")


def stock(prompt, model):
    headers = {"content-type": "application/json", "runner-credential": "key", "runner-bucket": model}
    asked = urllib.request.Request(f"{HOST}/ask", json.dumps({"prompt": prompt}).encode(), headers)
    with urllib.request.urlopen(asked) as reply:
        return json.load(reply)["answer"]


def plain(prompt, model):
    connection = http.client.HTTPSConnection("api.example.com")
    headers = {"runner-credential": "key", "runner-bucket": model}
    connection.request("POST", "/ask", json.dumps({"prompt": prompt}), headers)
    reply = connection.getresponse()
    if reply.status >= 400:
        raise urllib.error.HTTPError(HOST, reply.status, "no", reply.headers, reply)
    return json.load(reply)["answer"]


class Providers(unittest.TestCase):
    def asking(self, function, exchange, **more):
        module = plugin(provider("mine", hosts=[HOST], credentials={"key": "KEY"}, **more), function)
        return call(module, provider="mine:small", prompt="2+2?", exchanges=[exchange])

    def test_all_ways_go_through_the_runner(self):
        for way in (ask, stock, plain):
            exchange = {"request": {"method": "POST", "url": f"{HOST}/ask"}, "response": {"json": {"answer": "4"}}}
            played = self.asking(way, exchange)
            (request,) = played.requests
            self.assertEqual((played.text, request.credential, request.bucket), ("4", "key", "small"), way)
            self.assertEqual(json.loads(request.body), {"prompt": "2+2?"})
            self.assertLessEqual({name for name, _ in request.headers}, {"content-type"})

    def test_a_body_of_unknown_length_goes_whole_and_any_header_comes(self):
        def mine(prompt):
            parts = iter([prompt.encode(), b"=" * 70_000, b""])
            asked = urllib.request.Request(f"{HOST}/ask", parts, method="POST")
            with urllib.request.urlopen(asked, timeout=0.0001) as reply:
                return reply.headers["x-name"]

        played = self.asking(mine, {"response": {"headers": {"x-name": "Łódź"}}})
        (request,) = played.requests
        self.assertEqual(request.body, b"2+2?" + b"=" * 70_000)
        self.assertEqual((request.timeout_ms, played.text), (1, "?ód?"))

    def test_a_status_has_a_code_and_what_the_host_refuses_keeps_its_own(self):
        for way in (ask, stock, plain):
            for exchange, code in [
                ({"response": {"status": 429, "json": {"slow": True}}}, "rate-limited"),
                ({"response": {"status": 503}}, "transient"),
                ({"error": {"code": "denied", "message": "not granted"}}, "denied"),
                ({"error": {"code": "transient", "message": "cut"}}, "transient"),
            ]:
                with self.assertRaises(PluginError) as raised:
                    self.asking(way, exchange)
                self.assertEqual(raised.exception.code, code)

    def test_a_failing_status_has_the_server_s_words(self):
        for way in (ask, stock):
            with self.assertRaises(PluginError) as raised:
                self.asking(way, {"response": {"status": 400, "json": {"why": "so"}}})
            self.assertEqual((raised.exception.status, raised.exception.detail), (400, {"why": "so"}))

    def test_what_is_used_and_not_wanted_is_an_error_of_the_test(self):
        for act, message in [
            (lambda: fetch("https://other.example.com"), "'hosts' lacks"),
            (lambda: fetch(HOST, credential="k"), "'credentials' lacks 'k'"),
            (lambda: complete("judge", "?"), "'llm' lacks 'judge'"),
            (lambda: fetch(HOST), "no exchange left"),
        ]:
            with self.assertRaisesRegex(AssertionError, message):
                call(plugin(grader("mine", hosts=[HOST]), lambda: bool(act())))
        twice = [{"response": {"json": {"answer": "4"}}}] * 2
        module = plugin(provider("mine", hosts=[HOST], credentials={"key": "KEY"}), ask)
        with self.assertRaisesRegex(AssertionError, "left out 1"):
            call(module, provider="mine:small", exchanges=twice)

    def test_several_requests_go_at_once(self):
        def mine():
            one, two = fetch_all([{"url": HOST}, {"url": f"{HOST}/b", "body": "x"}])
            return Grade(one.ok and two.code == "transient", reason=one.text)

        exchanges = [{"response": {"text": "one"}}, {"error": {"code": "transient", "message": "cut"}}]
        grade = call(plugin(grader("mine", hosts=[HOST]), mine), exchanges=exchanges).grade
        self.assertEqual((grade.pass_, grade.reason), (True, "one"))


if __name__ == "__main__":
    unittest.main()
