import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Triton } from 'tstriton';
import { readCases, type GrpcCase } from './cases.js';
import { bindGrpcModels } from './grpc-models.js';
import { GRPC_RULES } from './grpc-rules.js';
import { replayGrpc } from './replay-grpc.js';
import { summarize, totals, type Replay } from './rules.js';

// One server per file, as in the recordings: the statistics of one file are not those of the other.
const SERVERS = { infer: newTriton(), management: newTriton() };
const replays: Replay[] = [];

function newTriton(): Triton {
  return new Triton({ grpcPort: 0, allowHttp: false, allowMetrics: false, serverThread: false });
}

beforeAll(async () => {
  for (const triton of Object.values(SERVERS)) bindGrpcModels(triton);
  await Promise.all(Object.values(SERVERS).map((triton) => triton.run()));
});

afterAll(async () => {
  await Promise.all(Object.values(SERVERS).map((triton) => triton.stop()));
});

describe('gRPC answers compared with the recorded ones of Triton', () => {
  it.each(['infer', 'management'] as const)('%s', async (file) => {
    const cases = readCases<GrpcCase>(`grpc/${file}.jsonl`);
    const replay = await replayGrpc(cases, SERVERS[file].grpcPort ?? 0, GRPC_RULES);
    replays.push(replay);
    expect(replay.cases).toBe(cases.length);
    expect(summarize(replay)).toBe('');
  });

  it('needs every one of its rules', () => {
    expect(totals(replays).filter(({ cases }) => cases === 0)).toEqual([]);
  });
});
