module.exports.word = (output, context) => context.vars.word;
module.exports.list = () => ['none', 'seas'];
