// Serves the same models with both engines in this process, asks both the same, and compares the answers.
//
//   node test/tritonserver/compare.mjs <path of tritonserver> [part of a case's name]
import { inspect, isDeepStrictEqual } from 'node:util';

import { Triton } from 'tstriton';

import { CASES, closeClients } from './cases.mjs';
import { bindModels } from './models.mjs';

const [tritonserverPath, part = ''] = process.argv.slice(2);
if (tritonserverPath === undefined) throw new Error('expected the path of tritonserver as the argument');

/** @type {string[]} */
const log = [];
/** @param {string} message */
const write = (message) => void log.push(message);
const shared = {
  httpPort: 0,
  grpcPort: 0,
  metricsPort: 0,
  httpAddress: '127.0.0.1',
  grpcAddress: '127.0.0.1',
  cacheConfig: 'local,size=1048576',
  logger: { debug: write, info: write, warn: write, error: write },
};
const engines = {
  tstriton: new Triton(shared),
  tritonserver: new Triton({ ...shared, engine: 'tritonserver', tritonserverPath }),
};

/** @param {string} line */
const print = (line) => process.stdout.write(`${line}\n`);
let failures = 0;
try {
  const asked = [];
  for (const triton of Object.values(engines)) {
    bindModels(triton);
    await triton.run();
    asked.push({ http: `http://127.0.0.1:${triton.httpPort}`, grpc: `grpc://127.0.0.1:${triton.grpcPort}` });
  }
  for (const { name, ask, differs } of CASES.filter((each) => each.name.includes(part))) {
    const answers = [];
    for (const engine of asked) {
      answers.push(await ask(engine).catch((/** @type {unknown} */ error) => `threw ${String(error)}`));
    }
    const isOk = isDeepStrictEqual(answers[0], answers[1]) === (differs === undefined);
    if (!isOk) failures++;
    print(`${isOk ? 'ok  ' : 'FAIL'} ${name}${differs === undefined ? '' : ` (differs: ${differs})`}`);
    if (isOk) continue;
    const [ours, its] = answers.map((answer) =>
      inspect(answer, { depth: 6, breakLength: 140, maxArrayLength: 12, maxStringLength: 600 }),
    );
    print(`  tstriton:     ${ours}\n  tritonserver: ${its}`);
  }
} catch (error) {
  failures++;
  print(log.slice(-30).join('\n'));
  print(inspect(error));
} finally {
  await closeClients();
  await Promise.all(Object.values(engines).map((triton) => triton.stop()));
}
print(failures === 0 ? 'all ok' : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
