"""A program's own files as modules.

Files have paths in a folder that they share. `import x` looks in the folder of the program's main
file, as if Python had been started there; `from .x import y` looks beside the importing file. The
main file is given a package of its own for that, which Python itself would not do. Nothing else
can be found: what is not handed over and not there already is refused by name.
"""

import linecache
import sys
import types
from importlib.machinery import ModuleSpec

import boundary
import faults

# The package that the main file's folder is.
HERE = "_here"

# A file of the program never hides these: promptfoo's own wrapper has imported them before it.
FIRST = {"asyncio", "builtins", "importlib", "json", "os", "sys", "traceback"}


class Finder:
    """Finds a program's files by module name."""

    def __init__(self, files):
        # Path without `.py` → source; of a package, its folder.
        self.files = files

    def find_spec(self, name, path=None, target=None):
        if name == HERE:
            return ModuleSpec(name, self, is_package=True)
        plain = name.removeprefix(HERE + ".")
        if plain != name:
            if self.has(plain):
                return ModuleSpec(name, Alias(plain), is_package=self.is_package(plain))
            raise missing(plain)
        if self.has(name):
            return ModuleSpec(name, self, is_package=self.is_package(name))
        if name.partition(".")[0] in self.tops():
            raise missing(name)
        raise boundary.refused_module(name)

    def tops(self):
        return {path.partition("/")[0].removesuffix(".py") for path in self.files}

    def has(self, name):
        return self.path(name) in self.files or self.is_package(name)

    def path(self, name):
        return name.replace(".", "/") + ".py"

    def is_package(self, name):
        folder = name.replace(".", "/") + "/"
        return self.path(name) not in self.files and any(
            path.startswith(folder) for path in self.files
        )

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        if name == HERE:
            return
        path = self.path(name)
        if self.is_package(name):
            path = name.replace(".", "/") + "/__init__.py"
        source, shown = self.files.get(path, ("", path))
        module.__file__ = shown
        execute(source, shown, module)


class Alias:
    """A module by its other name: one file is one module."""

    def __init__(self, name):
        self.name = name

    def create_module(self, spec):
        __import__(self.name)
        return sys.modules[self.name]

    def exec_module(self, module):
        pass


def missing(name):
    return faults.NoFile(f"there is no file {name.replace('.', '/')}.py beside the code", name=name)


def only(files):
    """Makes these the only files that can be imported. The interpreter's own finders would look at a
    disk, and there is none."""
    finder = Finder(files)
    sys.meta_path[:] = [finder]
    sys.path_hooks.clear()
    return finder


def install(program):
    """Makes a program's files importable."""
    folder = program.name.rpartition("/")[0]
    inside = folder + "/" if folder else ""
    files = {}
    for module in program.modules:
        faults.show(module.path, module.source)
        if module.path.startswith(inside):
            files[module.path[len(inside) :]] = (module.source, module.path)
    files[program.name[len(inside) :]] = (program.source, program.name)
    finder = only(files)
    for top in finder.tops() - FIRST:
        for name in [name for name in sys.modules if name.partition(".")[0] == top]:
            del sys.modules[name]


def stem(path):
    return path.rpartition("/")[2].removesuffix(".py")


def load_main(path, name):
    """The program's main file as a module, run."""
    source = "".join(linecache.cache[path][2])
    module = types.ModuleType(name)
    module.__file__ = path
    module.__package__ = HERE
    sys.modules[name] = module
    __import__(HERE)
    execute(source, path, module)
    return module


def execute(source, path, module):
    exec(compile(source, path, "exec"), module.__dict__)
