export function isShort(output) {
  return output.length < 10;
}
export default { pass: true, score: 0.5, reason: 'a value, no function' };
