// The checks in another runtime than Node: `<runtime> runtime.mjs <module of the client> <url>` prints the outcomes as JSON.
import process from 'node:process';

import { runChecks } from './checks.mjs';

const [module, url] = process.argv.slice(2);
const outcomes = await runChecks(await import(/** @type {string} */ (module)), /** @type {string} */ (url));
process.stdout.write(`${JSON.stringify(outcomes)}\n`);
