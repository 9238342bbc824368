// What one of our servers with the model `AddSub` is asked, over one of the raw wires.

import { ADD_SUB, binaryRequests, checkRawAnswer, grpcRequestsOf } from './add-sub-wire.js';
import { askedGrpc, askedHttp } from './asked-targets.js';
import type { BenchProcess } from './bench-process.js';
import type { LoadTarget } from './load/load-run.js';

export async function addSubTarget(
  server: BenchProcess,
  wire: 'http-binary' | 'grpc',
  connections: number,
): Promise<LoadTarget> {
  if (wire === 'grpc') {
    const target = await askedGrpc(server.port('grpcPort'), grpcRequestsOf(ADD_SUB), checkRawAnswer);
    return { ...target, connections };
  }
  const place = { port: server.port('httpPort'), path: `/v2/models/${ADD_SUB}/infer` };
  const target = await askedHttp(place, binaryRequests, ({ body }, k) => checkRawAnswer(body, k));
  return { ...target, connections };
}
