module.exports = ({ vars }) => `Just ${vars.w} {{n}}`;
module.exports.chat = ({ vars, provider }) => [{ role: 'user', content: `${provider.id} ${vars.w}` }];
module.exports.whole = async ({ vars }) => ({ prompt: `whole ${vars.w}`, config: { a: 1 } });
