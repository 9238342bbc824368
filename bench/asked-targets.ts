// Makes targets for the load: each request is sent once through a client that is not ours, and its answer is checked. The load
// then expects these very bytes.

import type { GrpcTarget } from './load/grpc-load-connection.js';
import type { HttpTarget } from './load/http-load-connection.js';
import { rawHttpRequest } from './load/raw-http-request.js';
import { askGrpc, askHttp, modelInfer } from './real-clients.js';
import type { HttpAnswer } from './real-clients.js';
import type { HttpForm } from './tensor-wire.js';

/** One connection with one call at a time. `check` throws for a wrong answer to request `index`. */
export async function askedGrpc(
  port: number,
  messages: readonly Buffer[],
  check: (answer: Buffer, index: number) => void,
): Promise<GrpcTarget> {
  const exchanges = [];
  for (const [i, message] of messages.entries()) {
    const expected = await askGrpc(port, message);
    check(expected, i);
    exchanges.push({ message, expected });
  }
  return { protocol: 'grpc', port, connections: 1, streams: 1, path: modelInfer.path, exchanges };
}

/** One connection. `check` throws for a wrong answer to request `index`. */
export async function askedHttp(
  { port, path }: { readonly port: number; readonly path: string },
  forms: readonly HttpForm[],
  check: (answer: HttpAnswer, index: number) => void,
): Promise<HttpTarget> {
  const exchanges = [];
  for (const [i, form] of forms.entries()) {
    const answer = await askHttp(port, path, form);
    check(answer, i);
    exchanges.push({ request: rawHttpRequest(port, path, form), expected: answer.body });
  }
  return { protocol: 'http', port, connections: 1, exchanges };
}
