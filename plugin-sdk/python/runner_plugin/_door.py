"""What the runner gives a plugin, and the records that cross. Without a runner, `native` stands for it."""

import importlib

try:
    from componentize_py_types import Err
    from wit_world.exports import meta
    from wit_world.imports import http, log, types

    IS_NATIVE = False
except ImportError:
    from . import native
    from .contract import http, log, meta, types
    from .native import Err

    IS_NATIVE = True


def exported(name):
    """The records of an interface that this plugin's world exports."""
    return importlib.import_module(f"runner_plugin.contract.{name}" if IS_NATIVE else f"wit_world.exports.{name}")


def imported(name):
    """What the runner gives in an interface that not every world has."""
    return native if IS_NATIVE else importlib.import_module(f"wit_world.imports.{name}")


def emit(level, message):
    """A line for the run's log."""
    (native if IS_NATIVE else log).emit(level, message, [])


def send(request):
    return (native if IS_NATIVE else http).send(request)


def send_all(requests):
    return (native if IS_NATIVE else http).send_all(requests)
