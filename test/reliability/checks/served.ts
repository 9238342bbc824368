// The server that the checks ask, and its clients.
import { defineModel } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import type { RunningServer } from '../../support/start-server.js';

export const echo = defineModel({
  modelName: 'Echo',
  inputs: { x: { dtype: 'float32', shape: [4] } },
  outputs: { x: { dtype: 'float32', shape: [4] } },
  config: { maxBatchSize: 32 },
});

export const X = Float32Array.of(1, 2, 3, 4);

/** A client of each protocol that tells what became of its calls as it is. */
export function clientsOf({ http, grpc }: RunningServer, maxConcurrency = 512) {
  const options = { retry: false, maxConcurrency } as const;
  return [new ModelClient(http, echo, options), new ModelClient(grpc, echo, options)] as const;
}

/** The answer to one request. */
export const ANSWER = { x: X };
