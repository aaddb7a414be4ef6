module.exports.beforeAll = async (context) => {
  context.suite.tests.push({ vars: { w: 'pushed' } });
  return context;
};
module.exports.beforeEach = (context) => {
  context.test.vars.added = 'added ' + context.test.vars.w;
  return context;
};
