module.exports = (vars) => ({ ...vars, name: `${vars.name} ${vars.name.length}` });
