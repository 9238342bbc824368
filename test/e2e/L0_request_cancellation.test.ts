// Clients that go away: their requests leave the queue at once and never run, or their callable sees it while it runs;
// nobody else notices. Over plain HTTP as well, where Triton does not look.
import { credentials, loadPackageDefinition, status, type ClientUnaryCall, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const PROTO = fileURLToPath(new URL('../../proto/grpc_service.proto', import.meta.url));

/** A request over a socket of its own, which the test then closes. */
function hangingUp(server: RunningServer, id: string): Socket {
  const { port } = new URL(server.http);
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];
  const body = JSON.stringify({ id, inputs });
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    `POST /v2/models/Held/infer HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

interface GrpcStub {
  ModelInfer(
    request: object,
    options: { readonly deadline: number },
    callback: (error: ServiceError | null) => void,
  ): ClientUnaryCall;
  close(): void;
}

/** A client that is not ours. */
function grpcStub(server: RunningServer): GrpcStub {
  const { inference } = loadPackageDefinition(loadSync(PROTO)) as unknown as {
    readonly inference: {
      readonly GRPCInferenceService: new (address: string, credentials: unknown) => GrpcStub;
    };
  };
  return new inference.GRPCInferenceService(new URL(server.grpc).host, credentials.createInsecure());
}

function grpcRequest(id: string): object {
  const contents = { fp32Contents: [1] };
  return { modelName: 'Held', id, inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], contents }] };
}

/** A call with a deadline, which passes for its client when `pass` is called: sooner than for other clients' calls. */
function callWithDeadline(stub: GrpcStub, id: string) {
  const patience = 30_000;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const error = new Promise<ServiceError | null>((resolve) => {
    stub.ModelInfer(grpcRequest(id), { deadline: Date.now() + patience }, resolve);
  });
  const pass = () => {
    vi.advanceTimersByTime(patience);
    vi.useRealTimers();
  };
  return { error, pass };
}

describe.each([{ serverThread: true }, { serverThread: false }])(
  'a client that goes away, with %o',
  ({ serverThread }) => {
    it('takes its request out of the queue: over HTTP, gRPC, and by a deadline', async () => {
      const model = new HeldModel({ maxBatchSize: 8 });
      await using server = await startServer((triton) => model.bind(triton), { serverThread });
      await using clients = new HeldModelClients(server, model);
      const stub = grpcStub(server);
      const running = clients.ask('z');
      await model.began(1);

      const socket = hangingUp(server, 'http');
      await clients.waiting(1);
      socket.destroy();
      await clients.waiting(0);

      const cancelled = new Promise<ServiceError | null>((resolve) => {
        const call = stub.ModelInfer(grpcRequest('grpc'), { deadline: Date.now() + 60_000 }, resolve);
        void clients.waiting(1).then(() => call.cancel());
      });
      expect((await cancelled)?.code).toBe(status.CANCELLED);
      await clients.waiting(0);

      const late = callWithDeadline(stub, 'late');
      await clients.waiting(1);
      const [waiting] = await clients.queue('a');
      late.pass();
      expect((await late.error)?.code).toBe(status.DEADLINE_EXCEEDED);
      await clients.waiting(1);

      const controller = new AbortController();
      const aborted = clients.ask('b', { signal: controller.signal });
      await clients.waiting(2);
      controller.abort();
      expect(await aborted).toMatch(/^CANCELLED/);
      await clients.waiting(1);

      model.open();
      expect(await Promise.all([running, waiting])).toEqual(['ok', 'ok']);
      expect(model.batches).toEqual(['z', 'a']);
      const { success, fail } = (await clients.statistics()).inference_stats;
      expect([success.count, fail.count]).toEqual([2, 4]);
      expect(await clients.metric('nv_inference_request_failure', { reason: 'CANCELED' })).toBe(4);
      stub.close();
    });

    it('is seen by the callable that runs its request, whose batch goes on', async () => {
      const model = new HeldModel({ maxBatchSize: 8 });
      await using server = await startServer((triton) => model.bind(triton), { serverThread });
      await using clients = new HeldModelClients(server, model);
      const stub = grpcStub(server);
      const first = clients.ask('z');
      await model.began(1);
      const [stays] = await clients.queue('a');
      const socket = hangingUp(server, 'http');
      await clients.waiting(2);
      const late = callWithDeadline(stub, 'late');
      await clients.waiting(3);
      model.end();
      await model.began(2);
      expect(model.batches).toEqual(['z', 'a http late']);
      late.pass();
      expect((await late.error)?.code).toBe(status.DEADLINE_EXCEEDED);
      await model.abortedOne('late');
      socket.destroy();
      await model.abortedOne('http');
      model.open();
      expect(await Promise.all([first, stays])).toEqual(['ok', 'ok']);
      expect(model.aborted.sort()).toEqual(['http', 'late']);
      await expect.poll(() => clients.metric('nv_inference_request_failure', { reason: 'CANCELED' })).toBe(2);
      stub.close();
    });

    it('is none that closes its sending half alone: it gets its answer, as from Triton', async () => {
      const model = new HeldModel({ maxBatchSize: 1 });
      await using server = await startServer((triton) => model.bind(triton), { serverThread });
      await using clients = new HeldModelClients(server, model);
      const running = hangingUp(server, 'running');
      await model.began(1);
      const waiting = hangingUp(server, 'waiting');
      await clients.waiting(1);
      const answers = [running, waiting].map(async (socket) => Buffer.concat(await socket.toArray()).toString());
      waiting.end();
      running.end();
      model.end();
      await model.began(2);
      model.end();
      const ids = (await Promise.all(answers)).map((answer) => /^HTTP\/1\.1 200 [^]*"id":"(\w+)"/.exec(answer)?.[1]);
      expect(ids).toEqual(['running', 'waiting']);
      expect(await clients.metric('nv_inference_request_failure', { reason: 'CANCELED' })).toBe(0);
    });

    it('makes room in a queue that is full', async () => {
      const model = new HeldModel({ maxBatchSize: 1, batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } });
      await using server = await startServer((triton) => model.bind(triton), { serverThread });
      await using clients = new HeldModelClients(server, model);
      const first = clients.ask('z');
      await model.began(1);
      const socket = hangingUp(server, 'gone');
      await clients.waiting(1);
      expect(await clients.ask('over')).toMatch(/Exceeds maximum queue size$/);
      socket.destroy();
      await clients.waiting(0);
      const [next] = await clients.queue('a');
      model.open();
      expect(await Promise.all([first, next])).toEqual(['ok', 'ok']);
      expect(model.batches).toEqual(['z', 'a']);
    });

    it('lets those behind it go, when it was what they waited for', async () => {
      // With a delay long enough for this machine: the oldest is to be gone before it is over.
      let took = 0;
      let delay = 75;
      const batches: string[] = [];
      while (batches.at(-1) !== 'a') {
        delay *= 2;
        const model = new HeldModel({ maxBatchSize: 8, batcher: { maxQueueDelayMicroseconds: 1000 * delay } });
        model.open();
        await using server = await startServer((triton) => model.bind(triton), { serverThread });
        await using clients = new HeldModelClients(server, model);
        const arrived = async (count: number) => {
          while (model.batches.length === 0 && (await clients.pending()) < count);
        };
        const oldest = hangingUp(server, 'gone');
        await arrived(1);
        const startedAt = performance.now();
        const next = clients.ask('a');
        await arrived(2);
        oldest.destroy();
        expect(await next).toBe('ok');
        took = performance.now() - startedAt;
        batches.push(model.batches.join(', '));
      }
      // The age of the oldest counts; without it, that of the next.
      expect(took).toBeGreaterThanOrEqual(delay);
    });

    it('leaves nothing behind when a thousand go at once', async () => {
      const model = new HeldModel({ maxBatchSize: 8 });
      await using server = await startServer((triton) => model.bind(triton), { serverThread });
      await using clients = new HeldModelClients(server, model);
      const first = clients.ask('z');
      await model.began(1);
      const controller = new AbortController();
      const gone = Array.from({ length: 1000 }, (_, i) =>
        clients.ask(`${i}`, { signal: controller.signal, wire: 'grpc' }),
      );
      await clients.waiting(1000);
      controller.abort();
      await Promise.all(gone);
      await clients.waiting(0);
      const [next] = await clients.queue('a');
      model.open();
      expect(await Promise.all([first, next])).toEqual(['ok', 'ok']);
      expect(model.batches).toEqual(['z', 'a']);
      expect(await clients.metric('nv_inference_request_failure', { reason: 'CANCELED' })).toBe(1000);
    });
  },
);
