module.exports = (output) => output === 'x';
