module.exports = (output, context) => `${Object.keys(context.vars).join()} ${context.prompt.label}`;
