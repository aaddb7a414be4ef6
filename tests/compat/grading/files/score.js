const score = (scores, { threshold, componentResults }) => {
  const all = Object.values(scores);
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  return { pass: mean >= (threshold ?? 0.4), score: mean, reason: `${componentResults.length} parts` };
};
score.named = undefined;
module.exports = score;
module.exports.named = (scores) => ({ pass: true, score: 0.125, reason: Object.keys(scores).join() });
module.exports.broken = () => { throw new Error('no score'); };
