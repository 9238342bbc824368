// The suites by name.

import type { Suite } from './suite.js';
import { runAttacks } from './suites/attacks.js';
import { runBatcher } from './suites/batcher.js';
import { runCallables } from './suites/callables.js';
import { runClients } from './suites/clients.js';
import { runEngines } from './suites/engines.js';
import { runGrowth } from './suites/growth.js';
import { runHostileClients } from './suites/hostile-clients.js';
import { runHostile } from './suites/hostile.js';
import { runHttp2 } from './suites/http2.js';
import { runIdentity } from './suites/identity.js';
import { ITERATIVE_ROUNDS, ITERATIVE_SECONDS, runIterative } from './suites/iterative.js';
import { runKinds } from './suites/kinds.js';
import { runLarge } from './suites/large.js';
import { runLiveSequences } from './suites/live-sequences.js';
import { runMemory } from './suites/memory.js';
import { runOnnx } from './suites/onnx.js';
import { runOtherLoads } from './suites/other-loads.js';
import { runParts } from './suites/parts.js';
import { runPeers } from './suites/peers.js';
import { runRemote } from './suites/remote.js';
import { runRoutes } from './suites/routes.js';
import { runSequences } from './suites/sequences.js';
import { runUnbatched } from './suites/unbatched.js';

interface NamedSuite {
  readonly about: string;
  readonly run: Suite;
  /** Where `--rounds` and `--seconds` do not say how it measures. */
  readonly rounds?: string;
}

export const SUITES: Readonly<Record<string, NamedSuite>> = {
  identity: { about: 'HTTP JSON, HTTP binary and gRPC of the identity model beside floor servers', run: runIdentity },
  peers: { about: 'add-sub beside PyTriton, Triton and other servers, one core each', run: runPeers },
  'other-loads': {
    about: 'small requests by wrk and h2load instead of our own load, beside the floors and PyTriton',
    run: runOtherLoads,
  },
  engines: {
    about: "add-sub and identity on both engines, beside Triton's Python backend and PyTriton, one core each",
    run: runEngines,
  },
  large: { about: '1 MB and 16 MB in, and in and out, HTTP binary and gRPC, beside bare node:http', run: runLarge },
  unbatched: {
    about: 'add-sub without batching beside the same with it, HTTP binary and gRPC, with the server thread and without',
    run: runUnbatched,
  },
  remote: {
    about: 'add-sub with its instance in another process beside the same in a thread, HTTP binary and gRPC',
    run: runRemote,
  },
  routes: {
    about: 'add-sub in JSON: own routes, the protocol, mounted in node:http, beside FastAPI and LitServe',
    run: runRoutes,
  },
  kinds: {
    about: 'requests that differ in ids, headers or lengths, an asynchronous model, a pipeline, beside requests alike',
    run: runKinds,
  },
  sequences: {
    about:
      'requests of 16 sequences at once beside ordinary ones, HTTP binary and gRPC, with the server thread and without',
    run: runSequences,
  },
  growth: {
    about: 'how cost grows with tensors, rows, models, idle connections and queued requests',
    run: runGrowth,
  },
  parts: {
    about: 'the parts of a request, each alone: socket, codec, engine, callable, hop of threads',
    run: runParts,
  },
  clients: { about: "a call's cost to ModelClient, beside bare node:http, undici and grpc-js", run: runClients },
  memory: { about: 'start, and resident memory after many requests, in fresh processes', run: runMemory },
  batcher: {
    about: "what a batching decision costs, and a model's throughput in batches beside the ideal",
    run: runBatcher,
  },
  iterative: {
    about: 'tokens per second of a model that gives its rows back between steps, beside batches that end together',
    run: runIterative,
    rounds: `${ITERATIVE_ROUNDS} of ${ITERATIVE_SECONDS} s`,
  },
  callables: {
    about: 'streams of responses, readiness beside a spinning callable, instance threads, large batches',
    run: runCallables,
  },
  http2: {
    about: 'HTTP/2 connections alone, small and large echoes, beside grpc-js, node:http2 and sockets',
    run: runHttp2,
  },
  hostile: {
    about: 'what one large or malicious request does to the event loop, to health checks and to memory',
    run: runHostile,
  },
  'hostile-clients': {
    about: 'what clients that attack do to a good one and to memory: bombs, stalled uploads, unread answers, silence',
    run: runHostileClients,
  },
  attacks: {
    about: "a good client's p99 beside hostile traffic, against that beside harmless traffic of as many bytes",
    run: runAttacks,
  },
  'live-sequences': {
    about: 'memory of live sequences, how late idle ones end, and what they cost others',
    run: runLiveSequences,
    rounds: 'once',
  },
  onnx: { about: 'two ONNX networks over HTTP binary and gRPC beside onnxruntime alone', run: runOnnx },
};
