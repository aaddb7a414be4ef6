def make():
    return [{"vars": {"w": "from python"}, "assert": [{"type": "contains", "value": "python"}]}]
