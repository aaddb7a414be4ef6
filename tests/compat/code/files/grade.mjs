import { shout } from './shout.mjs';
export default (output, { vars }) => output.toUpperCase().includes(shout(vars.word));
