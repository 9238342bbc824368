// What `.ci/run` runs with the packed package in a folder of its own, as sources and compiled, on every version of Node:
// serves a function and a module in a thread over both protocols, asks them, prints the answers.
import { batch, defineModel, instanceGroup, Triton, type TensorSpec } from 'tstriton';
import { ModelClient } from 'tstriton/client';

const number = { dtype: 'float32', shape: [1] } as const satisfies TensorSpec;
const here = defineModel({ modelName: 'Here', inputs: { x: number }, outputs: { y: number } });
const apart = defineModel({ ...here, modelName: 'Apart' });

const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, logFile: '/dev/null' });
triton.bind({ ...here, inferFunc: batch(({ x }) => ({ y: x.map((value) => value + 1) })) });
triton.bind({ ...apart, inferFunc: instanceGroup(new URL('./add-one.js', import.meta.url)) });
await triton.run();
const answers: number[] = [];
for (const url of [`http://localhost:${triton.httpPort}`, `grpc://localhost:${triton.grpcPort}`]) {
  for (const model of [here, apart]) {
    const client = new ModelClient(url, model);
    const { y } = await client.inferSample({ x: Float32Array.of(1) });
    answers.push(y!.data[0]!);
    await client.close();
  }
}
await triton.stop();
// oxlint-disable-next-line no-console -- what the check looks at
console.log(process.version, ...process.execArgv, answers.join(' '));
