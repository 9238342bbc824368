// The process of one check: what it found goes to whoever started it.
import type { CheckOptions } from './check.js';
import { CHECKS } from './checks.js';

const [, , name = '', options = '{}'] = process.argv;
const figures = await CHECKS[name]!.run(JSON.parse(options) as CheckOptions);
await new Promise((resolve) => process.send!(figures, resolve));
process.disconnect();
