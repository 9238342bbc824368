import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Triton } from 'tstriton';
import { readCases, type HttpCase } from './cases.js';
import { bindHttpModels, bindPlainModels } from './http-models.js';
import { HTTP_RULES } from './http-rules.js';
import { replayHttp } from './replay-http.js';
import { summarize, totals, type Replay } from './rules.js';

const SERVERS = { main: newTriton(), plain: newTriton(), full: newTriton() };
const replays: Replay[] = [];

function newTriton(): Triton {
  return new Triton({ httpPort: 0, allowGrpc: false, allowMetrics: false, serverThread: false });
}

beforeAll(async () => {
  bindHttpModels(SERVERS.main);
  bindPlainModels(SERVERS.plain);
  bindPlainModels(SERVERS.full);
  await Promise.all(Object.values(SERVERS).map((triton) => triton.run()));
});

afterAll(async () => {
  await Promise.all(Object.values(SERVERS).map((triton) => triton.stop()));
});

describe('HTTP answers compared with the recorded ones of Triton', () => {
  it.each(['management', 'infer-json', 'infer-binary'])('%s', async (file) => {
    const cases = readCases<HttpCase>(`http/${file}.jsonl`);
    const replay = await replayHttp(cases, ({ server = 'main' }) => SERVERS[server].httpPort ?? 0, HTTP_RULES);
    replays.push(replay);
    expect(replay.cases).toBe(cases.length);
    expect(summarize(replay)).toBe('');
  });

  it('needs every one of its rules', () => {
    expect(totals(replays).filter(({ cases }) => cases === 0)).toEqual([]);
  });
});
