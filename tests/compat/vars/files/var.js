module.exports = (name, prompt, vars) => ({ output: `${name} ${vars.who.length}` });
