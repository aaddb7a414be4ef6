def get_var(name, prompt, other_vars):
    return {"output": name + " " + other_vars["w"]}
