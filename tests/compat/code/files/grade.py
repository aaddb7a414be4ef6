def get_assert(output, context):
    return {"pass": True, "score": 0.75, "reason": context["vars"]["w"], "named_scores": {"tone": 0.5}}


def other(output, context):
    return output.startswith("bye")
