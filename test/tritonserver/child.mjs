// A process that serves with tritonserver: `node child.mjs <path of tritonserver> <port>`. It says when it is ready.
import { batch, Triton, TritonUnrecoverableError } from 'tstriton';

const [tritonserverPath = '', port] = process.argv.slice(2);
const triton = new Triton({
  engine: 'tritonserver',
  tritonserverPath,
  httpPort: Number(port),
  grpcPort: 0,
  allowMetrics: false,
  httpAddress: '127.0.0.1',
  grpcAddress: '127.0.0.1',
  exitTimeoutSecs: 5,
});
triton.bind({
  modelName: 'Double',
  inferFunc: batch(({ x }) => {
    if (x.data[0] === -1) throw new TritonUnrecoverableError('out of order');
    return { y: x.map((value) => 2 * value) };
  }),
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
});
const served = triton.serve();
void triton.ready().then(() => process.stdout.write('ready\n'));
await served;
