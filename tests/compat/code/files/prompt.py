def make(context):
    return "made for " + str(context["vars"].get("w")) + " " + str(context["vars"].get("v"))
