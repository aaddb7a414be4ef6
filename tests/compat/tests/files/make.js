module.exports = async () => [{ vars: { w: 'made' }, assert: [{ type: 'equals', value: 'made' }] }];
module.exports.numbered = (config) => Array.from({ length: config.count }, (_, i) => ({ vars: { w: `made ${i}` } }));
