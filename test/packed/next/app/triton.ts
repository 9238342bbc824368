import { batch, Triton } from 'tstriton';

import { double } from './models';

const triton = new Triton({ allowHttp: false, allowGrpc: false, allowMetrics: false, logInfo: false });
triton.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })) });
export const handler = triton.fetchHandler();
await triton.run();
