module.exports = (output, context) => (context.vars.n === 5 ? 'five' : 'other');
module.exports.list = (output) => [output.n, output.n];
