// Triton's L0_grpc_state_cleanup: calls that end early, in whatever way, leave nothing behind: their requests are cancelled
// in the server, and the next calls are served as if nothing had been.
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { once } from 'node:events';

import { status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';

import { stream, type InferenceRequest, type Triton } from 'tstriton';

import { GrpcService, inferMessage, intTensor, shortMessage, type Message } from '../support/grpc-client.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const NUMBER = { dtype: 'int32', shape: [1] } as const;
const MODEL = { inputs: { n: NUMBER }, outputs: { i: NUMBER } } as const;

/** Requests that the models were given and told to give up. */
class Seen {
  readonly begun: string[] = [];
  readonly aborted: string[] = [];

  watch({ id, signal }: Pick<InferenceRequest, 'id' | 'signal'>): void {
    this.begun.push(id);
    if (signal.aborted) this.aborted.push(id);
    else signal.addEventListener('abort', () => this.aborted.push(id), { once: true });
  }

  async until(list: 'begun' | 'aborted', count: number): Promise<void> {
    while (this[list].length < count) await delay(2);
  }
}

function bind(triton: Triton, seen: Seen): void {
  // Answers when its request is given up.
  triton.bind({
    modelName: 'patient',
    ...MODEL,
    inferFunc: async (requests) => {
      for (const request of requests) seen.watch(request);
      await Promise.all(requests.map(({ signal }) => whenAborted(signal)));
      return requests;
    },
    config: { batching: false, concurrency: 100 },
  });
  triton.bind({
    modelName: 'ticking',
    ...MODEL,
    inferFunc: stream(async function* (_inputs, { requests: [request] }) {
      seen.watch(request!);
      for (let i = 0; !request!.signal.aborted; i++) {
        yield { i: Int32Array.of(i) };
        await delay(10);
      }
    }),
    config: { batching: false, decoupled: true },
  });
  triton.bind({
    modelName: 'repeat',
    ...MODEL,
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: Int32Array.of(i) };
    }),
    config: { batching: false, decoupled: true },
  });
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const ask = (model: string, id: string, n = 1): Message => inferMessage(model, [intTensor('n', [n])], { id });

/** A way to the server's port that can be cut. */
async function relay(grpc: string) {
  const { hostname, port } = new URL(grpc);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `grpc://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.dispose]() {
      this.cut();
      server.close();
    },
  };
}

const HOUR = 3_600_000;

/** A stop waits for what is under way as long as a test may take. */
const PATIENT = { exitTimeoutSecs: 3600 };

/** Nothing that ended is left: another client is served, and the server stops. */
async function expectClean(server: RunningServer): Promise<void> {
  using service = new GrpcService(server.grpc);
  const answers = service.stream().send(ask('repeat', 'after', 3));
  expect((await answers.end()).code).toBe(status.OK);
  // The last one may be marked as final.
  const said = answers.messages.map((message) => shortMessage(message).replace(/!$/, ''));
  expect(said).toEqual(['after:0', 'after:1', 'after:2']);
  await server.triton.stop();
}

describe.each([{ serverThread: true }, { serverThread: false }])('L0_grpc_state_cleanup with %o', (config) => {
  it('after the cancellation of calls and streams', async () => {
    const seen = new Seen();
    const server = await startServer((triton) => bind(triton, seen), { ...config, ...PATIENT });
    using service = new GrpcService(server.grpc);
    const call = service.start('ModelInfer', ask('patient', 'a'));
    const answers = service.stream().send(ask('patient', 'b'), ask('ticking', 'c'), ask('ticking', 'd'));
    await seen.until('begun', 4);
    await answers.until(4);
    call.cancel();
    answers.cancel();
    expect((await call.error).code).toBe(status.CANCELLED);
    expect((await answers.status).code).toBe(status.CANCELLED);
    await seen.until('aborted', 4);
    expect(seen.aborted.sort()).toEqual(['a', 'b', 'c', 'd']);
    await expectClean(server);
  });

  it('after deadlines of calls and streams', async () => {
    const seen = new Seen();
    const server = await startServer((triton) => bind(triton, seen), { ...config, ...PATIENT });
    using service = new GrpcService(server.grpc);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const deadline = Date.now() + HOUR;
    const call = service.call('ModelInfer', ask('patient', 'a'), { deadline });
    const answers = service.stream('ModelStreamInfer', { deadline }).send(ask('patient', 'b'), ask('ticking', 'c'));
    await seen.until('begun', 3);
    vi.advanceTimersByTime(HOUR);
    vi.useRealTimers();
    await expect(call).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect((await answers.status).code).toBe(status.DEADLINE_EXCEEDED);
    await seen.until('aborted', 3);
    await expectClean(server);
  });

  it('after the loss of the connection', async () => {
    const seen = new Seen();
    const server = await startServer((triton) => bind(triton, seen), { ...config, ...PATIENT });
    using way = await relay(server.grpc);
    using service = new GrpcService(way.url);
    const call = service.start('ModelInfer', ask('patient', 'a'));
    const answers = service.stream().send(ask('patient', 'b'), ask('ticking', 'c'));
    await seen.until('begun', 3);
    way.cut();
    expect((await call.error).code).toBe(status.UNAVAILABLE);
    expect((await answers.status).code).toBe(status.UNAVAILABLE);
    await seen.until('aborted', 3);
    await expectClean(server);
  });
});

describe('L0_grpc_state_cleanup', () => {
  it('after an error that ends a stream', async () => {
    const seen = new Seen();
    const server = await startServer((triton) => bind(triton, seen), { serverThread: false, ...PATIENT });
    using service = new GrpcService(server.grpc);
    const answers = service.stream('ModelStreamInfer', { metadata: { triton_grpc_error: 'true' } });
    answers.send(ask('ticking', 'a'));
    await answers.until(2);
    server.triton.bind({
      modelName: 'broken',
      ...MODEL,
      inferFunc: () => {
        throw new Error('broken');
      },
      config: { batching: false },
    });
    await server.triton.ready('broken');
    answers.send(ask('broken', 'b'));
    expect(await answers.status).toMatchObject({ code: status.INTERNAL, details: 'broken' });
    await seen.until('aborted', 1);
    await expectClean(server);
  });

  it('after bytes that are no message, on a stream with a model at work', async () => {
    const seen = new Seen();
    const server = await startServer((triton) => bind(triton, seen), { serverThread: false, ...PATIENT });
    const session = connectHttp2(server.grpc.replace('grpc', 'http'));
    const call = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.resume();
    // Model `ticking`, n: INT32 [1] = 1.
    const request = Buffer.from('0a077469636b696e672a0d0a016e1205494e5433321a01013a0401000000', 'hex');
    call.write(Buffer.concat([Buffer.from([0, 0, 0, 0, request.length]), request]));
    await seen.until('begun', 1);
    call.write(Buffer.from([0, 0, 0, 0, 2, 0xff, 0xff]));
    const [trailers] = (await once(call, 'trailers')) as [Record<string, string>];
    expect([trailers['grpc-status'], trailers['grpc-message']]).toEqual(['13', 'Unable to parse request']);
    await seen.until('aborted', 1);
    session.destroy();
    await expectClean(server);
  });

  it('after a stream with more requests than are taken at a time', async () => {
    const seen = new Seen();
    const server = await startServer((triton) => bind(triton, seen), { serverThread: false, ...PATIENT });
    using service = new GrpcService(server.grpc);
    const answers = service.stream();
    for (let i = 0; i < 6000; i++) answers.send(ask('patient', `r${i}`));
    await seen.until('begun', 100);
    answers.cancel();
    expect((await answers.status).code).toBe(status.CANCELLED);
    await seen.until('aborted', 100);
    await expectClean(server);
    expect(seen.begun).toHaveLength(100);
  });

  it('after hundreds of streams that are cancelled at once', async () => {
    const seen = new Seen();
    const server = await startServer((triton) => bind(triton, seen), { serverThread: false, ...PATIENT });
    using service = new GrpcService(server.grpc);
    const all = Array.from({ length: 300 }, (_, i) => service.stream().send(ask('ticking', `s${i}`)));
    await seen.until('begun', 300);
    for (const answers of all) answers.cancel();
    const ends = await Promise.all(all.map(({ status: ended }) => ended));
    expect(new Set(ends.map(({ code }) => code))).toEqual(new Set([status.CANCELLED]));
    await seen.until('aborted', 300);
    await expectClean(server);
  });

  it('a stream that is reset before anything was sent', async () => {
    const server = await startServer((triton) => bind(triton, new Seen()), { serverThread: false, ...PATIENT });
    const session = connectHttp2(server.grpc.replace('grpc', 'http'));
    await once(session, 'connect');
    for (let i = 0; i < 50; i++) {
      const call = session.request({
        ':method': 'POST',
        ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
        'content-type': 'application/grpc',
      });
      call.on('error', () => undefined);
      call.close(constants.NGHTTP2_CANCEL);
    }
    const pong = await new Promise<Error | null>((resolve) => session.ping(resolve));
    expect(pong).toBeNull();
    session.destroy();
    await expectClean(server);
  });
});
