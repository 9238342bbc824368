import { constants } from 'node:http2';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { startGrpc, startTcp } from '../../test/support/fake-servers.js';
import { PROTOCOLS, startPlayed, type PlayedCall } from '../../test/support/played-server.js';
import { defineModel } from '../model/callable.js';
import type { CallTimings } from './call-timings.js';
import { ModelClient } from './model-client.js';
import { ServerClient } from './server/server-client.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
/** A request that is unlike all others. */
let asked = 0;
const next = () => Float32Array.of(++asked, 2.5);
const QUICK = { initialBackoffMs: 1, maxBackoffMs: 1 };
const QUEUE_FULL = '[request id: <id_unknown>] Exceeds maximum queue size';

afterEach(() => void vi.useRealTimers());

/** What the nth request gets; all later ones are answered. */
function inTurn(...turns: ((call: PlayedCall) => void)[]) {
  let calls = 0;
  return {
    play: (call: PlayedCall) => {
      calls++;
      (turns[call.number - 1] ?? (() => call.answer()))(call);
    },
    get calls() {
      return calls;
    },
  };
}

describe.each(PROTOCOLS)('a request over %s that failed', (protocol) => {
  it('is sent again when the server refused it without executing it', async () => {
    const turns = inTurn(
      (call) => call.refuse(QUEUE_FULL),
      (call) => call.refuse('Server not ready'),
    );
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: QUICK });
    const x = next();
    const { y } = await client.inferSample({ x });
    expect(y!.data).toEqual(x);
    expect(turns.calls).toBe(3);
  });

  it('is sent again when a server that stops has unloaded its model, and not when there is none', async () => {
    const turns = inTurn(
      (call) => call.miss("Request for unknown model: 'Double' has no available versions"),
      (call) => call.miss("Request for unknown model: 'Double' is not found"),
    );
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: QUICK });
    await expect(client.inferSample({ x: next() })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: "Request for unknown model: 'Double' is not found",
    });
    expect(turns.calls).toBe(2);
  });

  it('is told apart from others that are sent again at the same time', async () => {
    const turns = inTurn(...Array.from({ length: 12 }, () => (call: PlayedCall) => call.refuse(QUEUE_FULL)));
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: { ...QUICK, maxAttempts: 20 } });
    const sent = Array.from({ length: 8 }, next);
    const answers = await Promise.all(sent.map((x) => client.inferSample({ x })));
    expect(answers.map(({ y }) => y!.data)).toEqual(sent);
    expect(turns.calls).toBe(20);
  });

  it('is sent three times at most, unless the options say otherwise, and fails with the last error', async () => {
    const turns = inTurn(...Array.from({ length: 9 }, () => (call: PlayedCall) => call.refuse(QUEUE_FULL)));
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: QUICK });
    const error = { name: 'TritonError', code: 'UNAVAILABLE', message: QUEUE_FULL };
    await expect(client.inferSample({ x: next() })).rejects.toMatchObject(error);
    expect(turns.calls).toBe(3);
    await expect(client.inferSample({ x: next() }, { retry: false })).rejects.toMatchObject(error);
    expect(turns.calls).toBe(4);
    await expect(client.inferSample({ x: next() }, { retry: { maxAttempts: 5 } })).rejects.toMatchObject(error);
    expect(turns.calls).toBe(9);
  });

  it.each([
    ['the server says that it is not available', (call: PlayedCall) => call.refuse('the device was lost')],
    ['the server says when to come again, and not why', (call: PlayedCall) => call.refuse('come later', 0)],
    ['the connection is lost', (call: PlayedCall) => call.drop()],
  ])('is sent again only if it may be executed twice, when %s', async (_, failure) => {
    const turns = inTurn(failure, failure);
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: QUICK });
    await expect(client.inferSample({ x: next() })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(turns.calls).toBe(1);
    const x = next();
    const { y } = await client.inferSample({ x }, { retry: { idempotent: true } });
    expect(y!.data).toEqual(x);
    expect(turns.calls).toBe(3);
  });

  it.each([
    ['is refused for what it is', (call: PlayedCall) => call.fail('no such thing')],
    ['was too late for the server', (call: PlayedCall) => call.refuse('Request timeout expired')],
  ])('is not sent again when it %s', async (_, failure) => {
    const turns = inTurn(failure);
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: { ...QUICK, idempotent: true } });
    await expect(client.inferSample({ x: next() })).rejects.toHaveProperty('code');
    expect(turns.calls).toBe(1);
  });

  it('waits as long as the server asks for, when that is longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const turns = inTurn((call) => call.refuse(QUEUE_FULL, 7));
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: QUICK });
    const timings: CallTimings[] = [];
    let isFirstOver: () => void;
    const firstOver = new Promise<void>((resolve) => (isFirstOver = resolve));
    const onTimings = (each: CallTimings) => {
      timings.push(each);
      isFirstOver();
    };
    const answer = client.inferSample({ x: next() }, { onTimings });
    await firstOver;
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(2)); // The call's deadline, and the wait.
    vi.advanceTimersByTime(6999);
    expect(turns.calls).toBe(1);
    vi.advanceTimersByTime(1);
    await answer;
    expect(timings.map(({ attempt, waitMs }) => [attempt, Math.round(waitMs / 1000)])).toEqual([
      [1, 0],
      [2, 7],
    ]);
  });

  it('fails at once when its deadline would be over before the next attempt', async () => {
    const turns = inTurn((call) => call.refuse(QUEUE_FULL, 86_400));
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double);
    await expect(client.inferSample({ x: next() })).rejects.toMatchObject({ message: QUEUE_FULL });
  });

  it('is not sent again after an abort, nor after the client was closed', async () => {
    const turns = inTurn(
      (call) => call.refuse(QUEUE_FULL),
      (call) => call.refuse(QUEUE_FULL),
    );
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: { initialBackoffMs: 1e6, maxBackoffMs: 1e6 } });
    const timeoutMs = 1e7;
    const controller = new AbortController();
    const aborted = client.inferSample(
      { x: next() },
      { timeoutMs, signal: controller.signal, onTimings: () => controller.abort() },
    );
    await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED' });
    const closed = client.inferSample({ x: next() }, { timeoutMs, onTimings: () => void client.close() });
    await expect(closed).rejects.toMatchObject({ code: 'CANCELLED', message: 'ModelClient is closed' });
    expect(turns.calls).toBe(2);
  });

  it('is sent again until the server is there', async () => {
    const { play } = inTurn();
    const gone = await startTcp(() => {});
    await gone[Symbol.asyncDispose]();
    await using client = new ModelClient(`${protocol}://${gone.authority}`, double, {
      retry: { ...QUICK, maxAttempts: 1000 },
    });
    let attempts = 0;
    let isTried: () => void;
    const tried = new Promise<void>((resolve) => (isTried = resolve));
    const x = next();
    const answer = client.inferSample({ x }, { onTimings: () => ++attempts === 3 && isTried() });
    await tried;
    await using server = await startPlayed(protocol, play, Number(gone.authority.split(':')[1]));
    expect((await answer).y!.data).toEqual(x);
    expect(server.connections).toHaveLength(1);
  });

  it('is sent again when the connection ends before the handshake of TLS does', async () => {
    await using server = await startTcp((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    await using client = new ModelClient(`${protocol}s://${server.authority}`, double, { retry: QUICK });
    const lost = { name: 'TritonConnectionError', code: 'UNAVAILABLE', requestSent: false };
    await expect(client.inferSample({ x: next() })).rejects.toMatchObject(lost);
    expect(server.connections).toHaveLength(3);
  });

  it('tells where the time of each attempt went', async () => {
    const turns = inTurn((call) => call.refuse(QUEUE_FULL));
    await using server = await startPlayed(protocol, turns.play);
    await using client = new ModelClient(server.url, double, { retry: QUICK });
    const timings: CallTimings[] = [];
    await client.inferSample({ x: next() }, { onTimings: (each) => timings.push(each) });
    const whole = ['attempt', 'waitMs', 'connectMs', 'serverMs', 'transferMs'];
    expect(timings.map((each) => Object.keys(each))).toEqual([whole.slice(0, 4), whole]);
    for (const each of timings)
      for (const value of Object.values(each) as number[]) expect(value).toBeGreaterThanOrEqual(0);
    expect(timings[0]!.connectMs).toBeGreaterThan(0);
  });
});

describe('a call whose onTimings fails', () => {
  const isBroken = () => {
    throw new Error('no such chart');
  };

  it.each([
    ['throws', isBroken],
    ['rejects', (async () => isBroken()) as () => void],
  ])('ends as it would without it, and warns, when it %s', async (_, onTimings) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const turns = inTurn((call) => call.refuse(QUEUE_FULL));
    await using server = await startPlayed('grpc', turns.play);
    await using client = new ModelClient(server.url, double, { retry: QUICK });
    const x = next();
    expect((await client.inferSample({ x }, { onTimings })).y!.data).toEqual(x);
    expect(turns.calls).toBe(2);
    expect(warn.mock.calls).toEqual(
      Array.from({ length: 2 }, () => [
        expect.stringContaining('onTimings failed: Error: no such chart'),
        'TSTritonWarning',
      ]),
    );
  });

  it('reports the failure to the page where there is no process', async () => {
    await using server = await startPlayed('http', inTurn().play);
    await using client = new ModelClient(server.url, double);
    const reportError = vi.fn<(error: unknown) => void>();
    const onTimings = () => {
      vi.stubGlobal('process', { env: {} });
      vi.stubGlobal('reportError', reportError);
      queueMicrotask(() => vi.unstubAllGlobals());
      return isBroken();
    };
    const x = next();
    expect((await client.inferSample({ x }, { onTimings })).y!.data).toEqual(x);
    expect(reportError.mock.calls).toEqual([[new Error('no such chart')]]);
  });
});

describe('a stream', () => {
  const tokens = defineModel({ ...double, config: { decoupled: true } });

  it('is sent again as long as nothing of it has come', async () => {
    let calls = 0;
    await using server = await startGrpc(({ stream }) => {
      calls++;
      if (calls === 1) {
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14', 'grpc-message': QUEUE_FULL },
          { endStream: true },
        );
      } else stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    await using client = new ModelClient(`grpc://${server.authority}`, tokens, { retry: QUICK });
    await expect(client.streamSample({ x: next() }).next()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(calls).toBe(2);
  });
});

describe('a ServerClient', () => {
  it('reads again what it could not read, and asks about this moment once', async () => {
    let calls = 0;
    await using server = await startGrpc(({ stream }) => {
      calls++;
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    await using client = new ServerClient(`grpc://${server.authority}`, { retry: QUICK });
    await expect(client.metadata()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(calls).toBe(3);
    await expect(client.isReady()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(calls).toBe(4);
    await expect(client.unloadModel('M')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(calls).toBe(5);
  });
});
