// The failure story (PyTriton 0.7.0): variables of the environment are taken for something else than they say: "False"
// and "0" for true, and a list for its characters. The numbers are those of README.md.
import { afterEach, describe, expect, it, vi } from 'vitest';

import { Triton } from 'tstriton';

import { startServer } from '../../support/start-server.js';

const MODEL = {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
} as const;

afterEach(() => vi.unstubAllEnvs());

describe.each(['PYTRITON_TRITON_CONFIG', 'TSTRITON_CONFIG'])('a variable %s_…', (prefix) => {
  it.each(['False', 'false', '0', 'no', 'off'])('19: that says %s means false', async (text) => {
    vi.stubEnv(`${prefix}_ALLOW_METRICS`, text);
    await using server = await startServer(() => undefined, { serverThread: false });
    expect(server.triton.metricsPort).toBeUndefined();
  });

  it.each(['True', '1', 'yes', 'on'])('19: that says %s means true', async (text) => {
    vi.stubEnv(`${prefix}_ALLOW_METRICS`, text);
    await using server = await startServer(() => undefined, { serverThread: false });
    expect(server.triton.metricsPort).toBeGreaterThan(0);
  });

  it('19: that says neither is refused by name', () => {
    vi.stubEnv(`${prefix}_ALLOW_METRICS`, 'nein');
    expect(() => new Triton()).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: expect.stringContaining(`${prefix}_ALLOW_METRICS must be true or false`),
      }),
    );
  });

  it('19: that lists something is a list of words', async () => {
    vi.stubEnv(`${prefix}_MODEL_CONTROL_MODE`, 'explicit');
    vi.stubEnv(`${prefix}_LOAD_MODEL`, 'First, Second');
    const bind = (triton: Triton) => {
      for (const modelName of ['First', 'Second', 'Third'])
        triton.bind({ ...MODEL, modelName, inferFunc: (requests) => requests });
    };
    await using server = await startServer(bind, { serverThread: false });
    const statuses = ['First', 'Second', 'Third'].map(
      async (name) => (await fetch(`${server.http}/v2/models/${name}/ready`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 400]);
  });
});
