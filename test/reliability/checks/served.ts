// The server that the checks ask, and its clients.
import { defineModel } from 'tstriton';
import { ModelClient, type InferOptions } from 'tstriton/client';

import { answerOf, distinctRequest, expectOwnAnswer } from '../../support/distinct-requests.js';
import type { RunningServer } from '../../support/start-server.js';

export const echo = defineModel({
  modelName: 'Echo',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { x: { dtype: 'float32', shape: [-1] } },
  strict: true,
  config: { maxBatchSize: 32 },
});

/** Answers each request by its own values and parameters. */
export function answerAll(requests: readonly Parameters<typeof answerOf>[0][]) {
  return requests.map(answerOf);
}

/** A client of each protocol that tells what became of its calls as it is. */
export function clientsOf({ http, grpc }: RunningServer, maxConcurrency = 512) {
  const options = { retry: false, maxConcurrency } as const;
  return [new ModelClient(http, echo, options), new ModelClient(grpc, echo, options)] as const;
}

export interface AskOptions extends Pick<InferOptions, 'signal'> {
  /** How many values are sent. Default: another number each time. */
  readonly size?: number;
}

/** Sends the request with this number, which is like no other. Rejects when the answer is not its own. */
export async function ask(
  client: ReturnType<typeof clientsOf>[number],
  number: number,
  { size, ...more }: AskOptions = {},
): Promise<void> {
  const request = distinctRequest(number, size);
  expectOwnAnswer(request, await client.inferSample({ x: request.x }, { ...request.options, ...more }));
}
