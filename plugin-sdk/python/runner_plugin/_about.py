"""What a plugin says about itself, out of what its decorators were given; and the classes that the runner calls."""

import inspect
import json

from ._door import meta

_CREDENTIAL = ("env", "reason", "scheme", "env_config_key", "value_config_key")


#: What comes of the decorators themselves.
_DECORATED = ("name", "types", "prefixes", "functions")


class About:
    """Of one plugin; each of its decorators adds to it."""

    def __init__(self, name):
        self.name, self.version, self.description = name, "0.1.0", name
        self.homepage = self.license = self.metadata = self.config = self.host_config_key = None
        self.prefixes, self.types, self.hosts = [], [], []
        self.credentials, self.settings, self.llm = {}, {}, {}
        self.check = lambda config: []
        #: The functions of its assertion types, by their names.
        self.functions = {}

    def add(self, more):
        for key, value in more.items():
            only_known("a plugin", {key}, [name for name in vars(self) if name not in _DECORATED])
            known = getattr(self, key)
            if isinstance(known, list):
                value = known + [item for item in value if item not in known]
            elif isinstance(known, dict):
                value = {**known, **value}
            setattr(self, key, value)

    def info(self):
        return meta.Info(
            name=self.name,
            version=self.version,
            description=self.description,
            homepage=self.homepage,
            license=self.license,
            provider_prefixes=self.prefixes,
            assertion_types=self.types,
            wants=meta.Wants(
                hosts=self.hosts,
                host_config_key=self.host_config_key,
                credentials=[_credential(*item) for item in self.credentials.items()],
                settings=[meta.SettingWant(env, key) for env, key in self.settings.items()],
                llm=list(self.llm.items()),
            ),
            config_schema_json=written(self.config),
            metadata_json=written(self.metadata),
        )


def _credential(name, want):
    want = {"env": want} if isinstance(want, str) else want
    only_known(f"the credential '{name}'", want, _CREDENTIAL)
    usual = {"reason": f"to ask as {name}", "scheme": "bearer", "env_config_key": None, "value_config_key": None}
    return meta.CredentialWant(name=name, **{**usual, **want})


def about(function, name, more):
    """What is known of the plugin of a function's module, in which the runner looks for its classes."""
    scope = function.__globals__
    plugin = scope.setdefault("__plugin__", About(name))
    plugin.add(more)
    plugin.info()  # A slip is found now.

    class Meta:
        def describe(self):
            return plugin.info()

        def check_config(self, config_json):
            return list(plugin.check(json.loads(config_json)))

    scope["Meta"] = Meta
    return plugin


def parameters(function, known):
    """The names of what a function takes, all of which it can be given."""
    names = list(inspect.signature(function).parameters)
    for name in names:
        if name not in known:
            raise TypeError(f"{function.__name__} can't be given '{name}'; there are {', '.join(known)}")
    return names


def only_known(where, given, known):
    """Fails where an author wrote a key that nobody reads."""
    for key in given:
        if key not in known:
            raise TypeError(f"{where} has no '{key}'; it has {', '.join(known)}")


def parsed(text):
    return None if text is None else json.loads(text)


def written(value):
    return None if value is None else json.dumps(value)
