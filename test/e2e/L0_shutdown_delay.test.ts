// A server in a process of its own that is told to end, and what its clients notice: nothing, when they heed what it says.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

import { afterEach, describe, expect, it } from 'vitest';

import { Triton, TritonUnrecoverableError } from 'tstriton';

import { GrpcService } from '../support/grpc-client.js';
import { RawConnection } from '../support/raw-http.js';
import { FREE_PORTS, gate, startServer } from '../support/start-server.js';

const SCRIPT = fileURLToPath(new URL('../fixtures/leaving-server.js', import.meta.url));
/** Longer than any test waits. */
const FOR_EVER = 1_000_000;

/** What grpc-js says of a call that no server has processed. */
const NOT_SERVED = /No connection established|Stream refused by server/;
const READY = 'GET /v2/health/ready HTTP/1.1\r\nHost: h\r\n\r\n';
const BODY = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [7] }] });
const INFER = `POST /v2/models/Identity/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const GRPC_REQUEST = {
  model_name: 'Identity',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], contents: { fp32_contents: [7] } }],
};

interface LeavingServer {
  readonly child: ChildProcess;
  readonly http: number;
  readonly grpc: string;
  readonly exitCode: Promise<number | null>;
}

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

async function start(serverThread: boolean, delaySecs: number): Promise<LeavingServer> {
  const child = fork(SCRIPT, [String(serverThread), String(delaySecs)], { execArgv: [] });
  children.push(child);
  const exitCode = once(child, 'exit').then(([code]) => code as number | null);
  const [ports] = (await once(child, 'message')) as [{ readonly http: number; readonly grpc: number }];
  return { child, http: ports.http, grpc: `grpc://127.0.0.1:${ports.grpc}`, exitCode };
}

/** Of one request on a connection of its own. */
async function askOnce(port: number, request: string) {
  await using connection = await RawConnection.open(port);
  await connection.send(request);
  const answer = await connection.answer();
  await connection.closed();
  return answer;
}

async function ready(port: number): Promise<number | undefined> {
  await using connection = await RawConnection.open(port);
  await connection.send(READY);
  return (await connection.answer())?.status;
}

describe.each([true, false])('a server that leaves, with serverThread: %s', (serverThread) => {
  it('is not ready but answers on kept connections and new ones, and says that they close', async () => {
    const { child, http, grpc, exitCode } = await start(serverThread, FOR_EVER);
    using service = new GrpcService(grpc);
    using health = new GrpcService(grpc, { service: 'health' });
    await using kept = await RawConnection.open(http);
    await kept.send(INFER);
    expect((await kept.answer())?.headers.get('connection')).not.toBe('close');
    await service.call('ModelInfer', GRPC_REQUEST);
    expect(await health.call('Check')).toEqual({ status: 'SERVING' });

    child.kill('SIGTERM');
    await expect.poll(() => ready(http)).toBe(400);

    for (const ask of [() => kept.send(INFER).then(() => kept.answer()), () => askOnce(http, INFER)]) {
      const answer = await ask();
      expect(answer?.status).toBe(200);
      expect(answer?.headers.get('connection')).toBe('close');
      expect(JSON.parse(String(answer?.body))).toMatchObject({ outputs: [{ data: [7] }] });
    }
    await kept.closed();
    expect((await askOnce(http, READY.replace('ready', 'live')))?.status).toBe(200);
    expect((await askOnce(http, READY.replace('health', 'models/Identity')))?.status).toBe(400);
    for (let i = 0; i < 3; i++) {
      expect(await service.call('ModelInfer', GRPC_REQUEST)).toMatchObject({ model_name: 'Identity' });
      expect(await health.call('Check')).toEqual({ status: 'NOT_SERVING' });
    }

    child.kill('SIGTERM');
    expect(await exitCode).toBe(130);
  });

  it('tells a gRPC client that connects to it with its first call, which it answers', async () => {
    const { child, http, grpc } = await start(serverThread, FOR_EVER);
    child.kill('SIGTERM');
    await expect.poll(() => ready(http)).toBe(400);
    const session = connect(grpc.replace('grpc', 'http'));
    const goaway = once(session, 'goaway');
    const stream = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ServerLive',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const trailers = once(stream, 'trailers');
    stream.resume().end(Buffer.alloc(5));
    expect(await goaway).toEqual([0, 0x7fffffff, undefined]);
    expect((await trailers)[0]).toMatchObject({ 'grpc-status': '0' });
    session.destroy();
    // Others go on being served, each on connections of its own.
    for (let i = 0; i < 3; i++) {
      using service = new GrpcService(grpc);
      expect(await service.call('ModelInfer', GRPC_REQUEST)).toMatchObject({ model_name: 'Identity' });
    }
  });

  it('without a delay answers what comes on kept connections until each of them knows', async () => {
    const { child, http, grpc, exitCode } = await start(serverThread, 0);
    const served = gate();
    let busy = 0;
    const isBusy = () => {
      if (++busy === 50) served.open();
    };
    // Requests differ, and each answer is checked against its own.
    const overHttp = Array.from({ length: 45 }, async (_, client) => {
      await using kept = await RawConnection.open(http);
      for (let i = 0; ; i++) {
        const [id, value] = [`${client}.${i}`, client * 1000 + i];
        const body = JSON.stringify({ id, inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [value] }] });
        const length = `Content-Length: ${body.length}`;
        await kept.send(`POST /v2/models/Identity/infer HTTP/1.1\r\nHost: h\r\n${length}\r\n\r\n${body}`);
        const answer = await kept.answer();
        expect(answer?.status).toBe(200);
        expect(JSON.parse(String(answer?.body))).toMatchObject({ id, outputs: [{ data: [value] }] });
        if (i === 0) isBusy();
        if (answer?.headers.get('connection') === 'close') break;
      }
      await kept.closed();
    });
    const overGrpc = Array.from({ length: 5 }, async (_, client) => {
      using service = new GrpcService(grpc);
      for (let i = 0; ; i++) {
        const id = `${client}.${i}`;
        const answer = await service.call('ModelInfer', { ...GRPC_REQUEST, id }).catch(String);
        // The port is closed, or closes: all that was served before was answered.
        if (i > 0 && typeof answer === 'string' && NOT_SERVED.test(answer)) return;
        expect(answer).toMatchObject({ id });
        if (i === 0) isBusy();
      }
    });
    const all = Promise.all([...overHttp, ...overGrpc]);
    await Promise.race([served.opened, all]);
    child.kill('SIGTERM');
    await all;
    expect(await exitCode).toBe(0);
  });

  it('ends with exit code 0 when the delay is over', async () => {
    const { child, http, exitCode } = await start(serverThread, 1);
    await using kept = await RawConnection.open(http);
    await kept.send(INFER);
    await kept.answer();
    child.kill('SIGTERM');
    expect(await exitCode).toBe(0);
    await kept.closed();
  });

  it('does not wait after an unrecoverable error', async () => {
    const server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'Identity',
          inputs: { x: { dtype: 'float32', shape: [1] } },
          outputs: { y: { dtype: 'float32', shape: [1] } },
          inferFunc: () => {
            throw new TritonUnrecoverableError('broken');
          },
        }),
      { serverThread, shutdownDelaySecs: FOR_EVER },
    );
    const ended = server.triton.serve().catch(String);
    using service = new GrpcService(server.grpc);
    await expect(service.call('ModelInfer', GRPC_REQUEST)).rejects.toThrow('broken');
    expect(await ended).toContain('broken');
  });

  it('does not wait when it has not started', async () => {
    await using other = await startServer(() => undefined);
    const taken = new Triton({
      ...FREE_PORTS,
      serverThread,
      grpcPort: other.triton.grpcPort!,
      shutdownDelaySecs: FOR_EVER,
    });
    await expect(taken.run()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('a Triton that is looked at', () => {
  it('shows what it does, its ports and its models', async () => {
    const triton = new Triton({ ...FREE_PORTS, allowMetrics: false });
    triton.bind({ modelName: 'Later', modelVersion: 3, inputs: {}, outputs: {}, inferFunc: (requests) => requests });
    const models = "models: [ 'Later version 3: not ready' ]";
    expect(inspect(triton, { breakLength: Infinity })).toBe(`Triton { state: 'stopped', ports: {}, ${models} }`);
    const running = triton.run();
    expect(inspect(triton)).toContain("state: 'starting'");
    await running;
    expect(inspect(triton, { breakLength: Infinity })).toBe(
      `Triton { state: 'ready', ports: { http: ${triton.httpPort}, grpc: ${triton.grpcPort} }, models: [ 'Later version 3: ready' ] }`,
    );
    expect(inspect({ nested: { too: { deep: triton } } })).toBe('{ nested: { too: { deep: [Triton] } } }');
    const stopped = triton.stop();
    expect(inspect(triton)).toContain("state: 'stopping'");
    await stopped;
    expect(inspect(triton)).toContain("state: 'stopped'");
  });
});
