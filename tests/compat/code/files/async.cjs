module.exports = async (output, context) => {
  const n = await Promise.resolve(output.length);
  return n / context.config.least;
};
