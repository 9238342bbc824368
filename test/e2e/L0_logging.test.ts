// The logging extension: what clients change shows in the log at once, as Triton's suite of this name tests it.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import type { Triton } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { inferJson, startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;
const file = temporaryFolder();
let files = 0;
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

/** Logs a line of each kind for every request. */
function bindTalkative(triton: Triton): void {
  triton.bind({
    modelName: 'talkative',
    inferFunc: (requests, { logger }) => {
      logger.error('failed');
      logger.warn('slow');
      logger.info('started');
      logger.verbose(2, 'detail');
      return requests;
    },
    inputs: { x: TENSOR },
    outputs: { y: TENSOR },
  });
}

describe.each([{ serverThread: true }, { serverThread: false }])('the log with %o', ({ serverThread }) => {
  async function start(more: object = {}) {
    const logFile = file(`${files++}.log`);
    const server = await startServer(bindTalkative, { serverThread, logFile, restrictedEndpoints: [], ...more });
    /** The lines that one request adds. */
    const lines = async () => {
      const before = readFileSync(logFile, 'utf8').length;
      expect((await inferJson(server.http, 'talkative', ONE)).status).toBe(200);
      return readFileSync(logFile, 'utf8').slice(before).split('\n').filter(Boolean);
    };
    /** The callable's own; verbose ones tell of the batcher too. */
    const texts = async () =>
      (await lines()).flatMap((line) => line.split("instance 0 of model 'talkative': ").slice(1));
    return { server, logFile, lines, texts };
  }

  it('writes what its settings let through, from one request to the next', async () => {
    const { server, logFile, texts } = await start();
    await using _ = server;
    using grpc = grpcService(server.grpc);
    const url = `${server.http}/v2/logging`;
    expect(await texts()).toEqual(['failed', 'slow', 'started']);
    expect(await callJson(url, { log_info: false, log_verbose_level: 2 })).toEqual([
      200,
      {
        log_file: logFile,
        log_info: false,
        log_warning: true,
        log_error: true,
        log_verbose_level: 2,
        log_format: 'default',
      },
    ]);
    expect(await texts()).toEqual(['failed', 'slow', 'detail']);
    await grpc.call('LogSettings', {
      settings: {
        log_error: { bool_param: false },
        log_warning: { bool_param: false },
        log_info: { bool_param: true },
        log_verbose_level: { uint32_param: 0 },
      },
    });
    expect(await texts()).toEqual(['started']);
  });

  it('writes times in the format that is asked for', async () => {
    const { server, lines } = await start({ logFormat: 'ISO8601', logInfo: false, logError: false });
    await using _ = server;
    const [first, ...rest] = await lines();
    expect(first).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ W \d+\] instance 0 of model 'talkative': slow$/);
    expect(rest).toEqual([]);
    await callJson(`${server.http}/v2/logging`, { log_format: 'default' });
    expect((await lines())[0]).toMatch(/^W\d{4} \d\d:\d\d:\d\d\.\d{6} \d+\] instance 0 of model 'talkative': slow$/);
  });

  it('goes where the server was told at its start', async () => {
    const { server } = await start();
    await using _ = server;
    const message = 'log file location can not be updated through network protocol';
    expect(await callJson(`${server.http}/v2/logging`, { log_file: 'elsewhere.log' })).toEqual([
      501,
      { error: message },
    ]);
  });

  it('is lines of JSON where that is asked for, at the start or by a client', async () => {
    const { server, lines } = await start({ logFormat: 'json' });
    await using _ = server;
    expect((await lines()).map((line): unknown => JSON.parse(line))).toEqual(
      [
        { level: 'error', message: "instance 0 of model 'talkative': failed" },
        { level: 'warning', message: "instance 0 of model 'talkative': slow" },
        { level: 'info', message: "instance 0 of model 'talkative': started" },
      ].map((entry) => ({ ...entry, pid: process.pid, time: expect.any(String) as string })),
    );
    await callJson(`${server.http}/v2/logging`, { log_format: 'ISO8601' });
    expect((await lines())[0]).toMatch(/^\d{4}-/);
    const [status, settings] = await callJson(`${server.http}/v2/logging`, { log_format: 'json' });
    expect([status, settings]).toMatchObject([200, { log_format: 'json' }]);
    expect(JSON.parse((await lines())[0]!)).toMatchObject({ level: 'error' });
  });

  it("goes to a logger of the user's, from the server and from callables, by the same settings", async () => {
    const told: string[] = [];
    const teller = (level: string) => (message: string) => {
      told.push(`${level}: ${message.split('\n')[0]}`);
      // A logger that fails harms nobody.
      throw new Error('disk full');
    };
    const logger = { debug: teller('debug'), info: teller('info'), warn: teller('warn'), error: teller('error') };
    const server = await startServer(bindTalkative, { serverThread, restrictedEndpoints: [], logger });
    await using _ = server;
    expect(told).toContain(`info: Started HTTPService at 0.0.0.0:${server.triton.httpPort}`);
    told.length = 0;
    await inferJson(server.http, 'talkative', ONE);
    const of = "instance 0 of model 'talkative': ";
    expect(told).toEqual([`error: ${of}failed`, `warn: ${of}slow`, `info: ${of}started`]);
    await callJson(`${server.http}/v2/logging`, { log_verbose_level: 2, log_error: false });
    told.length = 0;
    await inferJson(server.http, 'talkative', ONE);
    expect(told).toContain(`debug: ${of}detail`);
    expect(told).not.toContain(`error: ${of}failed`);
  });
});
