export default (output: string): boolean => output.length === 3;
