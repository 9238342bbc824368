// Ends the process when an input does not come to an end: nothing else could tell which one it is.
import { Worker } from 'node:worker_threads';

import { underWay } from './fuzz-target.js';

/** No decoder takes a hundredth of it. */
const SECONDS = 20;

const WATCH = `const { workerData: { underWay, seconds } } = require('node:worker_threads');
let last;
setInterval(() => {
  const [seed] = underWay;
  if (seed === last) {
    require('node:fs').writeSync(2, \`the input of seed \${seed} has not come to an end in \${seconds} s\\n\`);
    process.kill(process.pid, 'SIGKILL');
  }
  last = seed;
}, seconds * 1000);`;

/** Of all that is fuzzed in this thread, until it is disposed of. */
export function watchForHangs(seconds = SECONDS): Disposable {
  const worker = new Worker(WATCH, { eval: true, workerData: { underWay, seconds } });
  worker.unref();
  return { [Symbol.dispose]: () => void worker.terminate() };
}
