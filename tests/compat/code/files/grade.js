const { least } = require('./limits.json');
module.exports = (output, context) => ({ pass: output.length >= least, score: 0.5, reason: context.vars.word });
module.exports.strict = (output) => output.length > 100;
