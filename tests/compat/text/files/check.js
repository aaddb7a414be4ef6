module.exports = (output, context) => output.startsWith(context.vars.color);
