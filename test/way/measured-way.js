// Serves one model with everything in one thread, has another thread ask it one request at a time, and prints as JSON
// how many modules, functions and calls of the build each request runs. V8's precise coverage does the counting. Of a file that
// bundles modules, its source map tells them apart.
// Usage: node measured-way.js http|json|grpc [--list]      --list names each function, with its calls for one request
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { SourceMap } from 'node:module';
import { Worker } from 'node:worker_threads';

import { batch, Triton } from 'tstriton';

const REQUESTS = 1000;
/** Functions that run for fewer requests than this share are start-up, timers or caches being filled. */
const SHARE_OF_REQUESTS = 0.5;

const wire = process.argv[2] ?? 'http';
const build = new URL('../../dist/', import.meta.url).href;

const triton = new Triton({
  httpPort: 0,
  grpcPort: 0,
  metricsPort: 0,
  httpAddress: '127.0.0.1',
  grpcAddress: '127.0.0.1',
  metricsAddress: '127.0.0.1',
  serverThread: false,
  logInfo: false,
});
const values = /** @type {const} */ ({ dtype: 'float32', shape: [16] });
triton.bind({
  modelName: 'm',
  inferFunc: batch(({ INPUT0 }) => ({ OUTPUT0: INPUT0 })),
  inputs: { INPUT0: values },
  outputs: { OUTPUT0: values },
  config: { maxBatchSize: 8 },
});
await triton.run();

const port = wire === 'grpc' ? triton.grpcPort : triton.httpPort;
const client = new Worker(new URL('asking-client.js', import.meta.url), { workerData: { wire, port } });
await once(client, 'message');

async function ask() {
  client.postMessage(REQUESTS);
  await once(client, 'message');
}

await ask();
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
// The first counts also hold the functions that only a start runs.
await ask();
await session.post('Profiler.takePreciseCoverage');
await ask();
const { result } = await session.post('Profiler.takePreciseCoverage');
session.disconnect();

/**
 * Finds the source of a place in a file.
 * @param {string} url of the file
 * @returns {(offset: number) => string}
 */
function sourcesOf(url) {
  const map = new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')));
  const ends = [...readFileSync(new URL(url), 'utf8').matchAll(/\n|$/g)].map(({ index }) => index);
  return (offset) => {
    const line = ends.findIndex((end) => end >= offset);
    const entry = map.findEntry(line, offset - (ends[line - 1] ?? -1) - 1);
    if (!('originalSource' in entry)) throw new Error(`${url} has no source at ${offset}`);
    return entry.originalSource;
  };
}

const modules = new Set();
/** @type {string[]} */
const listed = [];
let calls = 0;
for (const script of result) {
  if (!script.url.startsWith(build)) continue;
  const sourceOf = sourcesOf(script.url);
  for (const { functionName, ranges } of script.functions) {
    const [whole] = ranges;
    const count = whole?.count ?? 0;
    const isModule = functionName === '' && whole?.startOffset === 0;
    if (whole === undefined || isModule || count < SHARE_OF_REQUESTS * REQUESTS) continue;
    modules.add(sourceOf(whole.startOffset));
    const source = sourceOf(whole.startOffset).replace(/^.*\bsrc\//, '');
    listed.push(`${source} ${functionName || '(without a name)'} ${count / REQUESTS}`);
    calls += count / REQUESTS;
  }
}
await client.terminate();
await triton.stop();
process.stdout.write(
  `${JSON.stringify({ modules: modules.size, functions: listed.length, calls: Math.round(calls) })}\n`,
);
if (process.argv[3] === '--list') process.stdout.write(`${listed.sort().join('\n')}\n`);
