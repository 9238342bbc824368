// One part of a request, alone in a process: an order runs it again and again for so long, and is answered with the CPU time of a
// request.
// Usage: part-process.js <part> <requests at a time>

import { MessageChannel, Worker } from 'node:worker_threads';

import { serveControl } from '../control-channel.js';
import { binaryRequests, grpcRequests, MODEL } from '../identity-wire.js';
import { load } from '../parts-build.js';
import type { Instance, Sink } from '../parts-build.js';
import * as workload from '../parts-workload.js';

/** Does so many requests, and calls back when all have ended. */
type Part = (ended: () => void) => void;

const [name, atOnceText] = process.argv.slice(2);
const atOnce = Number(atOnceText);

const { completeModelConfig } = await load('model/complete-model.js');
const config = completeModelConfig(workload.SPEC, 1);
let worker: Worker | undefined;

/** They differ, as requests under load do. */
function requestOf<T>(requests: readonly T[], i: number): T {
  return requests[i % requests.length]!;
}

/** No tensor of the workload is in any. */
const NO_SHARED_MEMORY = {};

async function codecOfGrpc(): Promise<Part> {
  const { finishPaced } = await load('pacing/paced-work.js');
  const { decodeInferRequest } = await load('protocol/grpc/decode-infer-request.js');
  const { encodeInferResponse } = await load('protocol/grpc/encode-infer-response.js');
  return (ended) => {
    for (let i = 0; i < atOnce; i++) {
      const { request } = finishPaced(
        finishPaced(decodeInferRequest(requestOf(grpcRequests, i))).complete(config, NO_SHARED_MEMORY),
      );
      const answer = encodeInferResponse(workload.RESPONSE);
      if (request.inputs.length !== 2 || answer.length === 0) throw new Error('wrong answer of the codec');
    }
    ended();
  };
}

async function codecOfHttp(): Promise<Part> {
  const { finishPaced } = await load('pacing/paced-work.js');
  const { decodeInferRequest } = await load('protocol/http/decode-infer-request.js');
  const { encodeInferResponse } = await load('protocol/http/encode-infer-response.js');
  const { KnownRequests } = await load('protocol/http/known-requests.js');
  // As the server has it: headers that differ in their ids alone are parsed once.
  const known = new KnownRequests();
  const given = { config, modelVersion: '', headerLength: workload.HEADER_LENGTH, maxInputSize: 1 << 26, known };
  return (ended) => {
    for (let i = 0; i < atOnce; i++) {
      const form = finishPaced(decodeInferRequest({ ...given, body: requestOf(binaryRequests, i).body }));
      const { request, binaryOutputs } = finishPaced(form.complete(config, NO_SHARED_MEMORY));
      const { contentLength } = finishPaced(encodeInferResponse(workload.RESPONSE, binaryOutputs));
      if (request.inputs.length !== 2 || contentLength < 128) throw new Error('wrong answer of the codec');
    }
    ended();
  };
}

/** The instance answers at once with the same outputs, as if another thread had. */
async function engine(): Promise<Part> {
  const { InferenceServer } = await load('core/inference-server.js');
  const { SILENT: logger } = await load('core/engine-logger.js');
  const server = new InferenceServer({ name: 'bench', version: '0', logger });
  const entry = server.repository.add(config);
  const result = { kind: 'outputs', outputs: workload.OUTPUTS, parameters: undefined } as const;
  const times = { computeInput: 0, computeInfer: 0, computeOutput: 0 };
  const instance: Instance = {
    inOtherThread: true,
    execute(batch, done) {
      setImmediate(() =>
        done(
          batch.map(() => result),
          times,
        ),
      );
      return { cancel: () => undefined };
    },
  };
  entry.serve({ instances: [instance] });
  server.started();
  const request = {
    modelName: MODEL,
    modelVersion: '',
    id: '',
    parameters: undefined,
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
    inputs: workload.INPUTS,
  };
  return (ended) => {
    let left = atOnce;
    const sink: Sink = {
      respond({ outputs }) {
        if (outputs !== workload.OUTPUTS) workload.checkOutputs(outputs);
        if (--left === 0) ended();
      },
      complete: () => fail(new Error('an answer without outputs')),
      fail,
    };
    for (let i = 0; i < atOnce; i++) server.infer(request, sink);
  };
}

function fail(error: Error): never {
  throw error;
}

/** Batches of one, or all in one. */
function executing(instance: Instance, isOneBatch: boolean): Part {
  const size = isOneBatch ? atOnce : 1;
  const batch = Array.from({ length: size }, () => workload.EXECUTION);
  return (ended) => {
    let left = atOnce / size;
    for (let i = left; i > 0; i--) {
      instance.execute(batch, (results) => {
        for (const result of results) workload.checkOutputs('outputs' in result ? result.outputs : undefined);
        if (--left === 0) ended();
      });
    }
  };
}

async function callable(isOneBatch: boolean): Promise<Part> {
  const { hostedCallable } = await load('host/callable-turns.js');
  const { InlineInstance } = await load('link/inline-instance.js');
  return executing(
    new InlineInstance(config, hostedCallable(workload.SPEC.inferFunc, 1), { logger: console }),
    isOneBatch,
  );
}

async function hop(isOneBatch: boolean): Promise<Part> {
  const { PortChannel } = await load('link/channel.js');
  const { ChannelInstance } = await load('link/channel-instance.js');
  worker = new Worker(new URL('./hop-thread.js', import.meta.url));
  const { port1, port2 } = new MessageChannel();
  worker.postMessage(port2, [port2]);
  return executing(new ChannelInstance(config, new PortChannel(port1)), isOneBatch);
}

const PARTS: Readonly<Record<string, () => Promise<Part>>> = {
  'codec-grpc': codecOfGrpc,
  'codec-http': codecOfHttp,
  engine,
  callable: () => callable(false),
  'callable-batch': () => callable(true),
  hop: () => hop(false),
  'hop-batch': () => hop(true),
};

const make = PARTS[name ?? ''];
if (!make || !(atOnce > 0)) throw new Error(`expected a part of ${Object.keys(PARTS).join(', ')} and a number`);
const part = await make();

/** Microseconds of CPU of all threads, per request. */
async function run(seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000;
  const before = process.cpuUsage();
  let requests = 0;
  while (performance.now() < until) {
    // Several in one turn of the event loop would be a load that no socket brings, one alone a turn for each.
    await new Promise<void>((resolve) => part(resolve));
    requests += atOnce;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

serveControl({
  ports: {},
  load: (seconds) => run(seconds as number),
  stop: async () => {
    await worker?.terminate();
  },
});
