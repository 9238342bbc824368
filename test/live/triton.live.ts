// The same questions to a real tritonserver and to ours, live: the recorded requests of the identity models and of
// addsub, judged by the rules of the conformance suite with Triton's answer of this moment in place of the recorded one.
//
//   npm run build && TRITON_ENVIRONMENT=… npx vitest run --config test/live/vitest.config.ts
//
// TRITON_ENVIRONMENT is a Python environment in which nvidia-pytriton 0.7.0 is installed, which brings tritonserver.
import { devNull } from 'node:os';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { Triton } from 'tstriton';

import { readCases, type HttpCase } from '../conformance/cases.js';
import { HTTP_RULES } from '../conformance/http-rules.js';
import { differencesOf, exchange, recordedAnswer, requestBytes, type HttpAnswer } from '../conformance/replay-http.js';
import { Verdict } from '../conformance/rules.js';
import { bindAddSub, bindIdentities, IDENTITIES } from '../conformance/shared-models.js';
import { RawConnection } from '../support/raw-http.js';
import { startTriton, type LiveTriton } from './start-triton.js';

/** numpy has no bfloat16, so that Triton's Python backend has no easy identity of it. */
const MODELS = [...IDENTITIES.filter((name) => name !== 'id_bf16'), 'addsub'];

function configOf(name: string): string {
  const tensor = (of: string, type: string) => `{ name: "${of}" data_type: TYPE_${type} dims: [ -1 ] }`;
  if (name === 'addsub') {
    const list = (names: readonly string[]) => names.map((of) => tensor(of, 'FP32')).join(', ');
    return `max_batch_size: 16 input [ ${list(['a', 'b'])} ] output [ ${list(['add', 'sub'])} ]`;
  }
  const type = name === 'id_bytes' ? 'STRING' : name.slice('id_'.length).toUpperCase();
  return `max_batch_size: 8 input [ ${tensor('x', type)} ] output [ ${tensor('y', type)} ]`;
}

const ours = new Triton({
  httpPort: 0,
  httpAddress: '127.0.0.1',
  allowGrpc: false,
  allowMetrics: false,
  logFile: devNull,
});
let theirs: LiveTriton;

beforeAll(async () => {
  bindIdentities(ours);
  bindAddSub(ours);
  await ours.run();
  const slow = configOf('id_fp32');
  theirs = await startTriton({ ...Object.fromEntries(MODELS.map((name) => [name, configOf(name)])), slow });
});

afterAll(async () => {
  await ours.stop();
  await theirs?.[Symbol.asyncDispose]();
});

it.each(['infer-json', 'infer-binary'])('both answer the questions of %s alike, under the rules', async (file) => {
  // Without those that end Triton's process or never get an answer.
  const cases = readCases<HttpCase>(`http/${file}.jsonl`).filter(
    (testCase) => MODELS.includes(testCase.model ?? '') && recordedAnswer(testCase).end === 'answered',
  );
  const verdict = new Verdict<HttpCase, HttpAnswer>(HTTP_RULES, differencesOf);
  for (const testCase of cases) {
    const request = requestBytes(testCase);
    const { method } = testCase.request;
    const recorded = await exchange(request, method, theirs.port);
    verdict.add({ testCase, recorded, ours: await exchange(request, method, ours.httpPort!) });
  }
  const { cases: asked, identical, failures } = verdict.replay();
  process.stdout.write(
    `${file}: ${asked} questions, ${identical} answers the same to the byte, ${failures.length} differ without a rule\n`,
  );
  expect(asked).toBeGreaterThan(100);
  expect(failures.join('\n')).toBe('');
});

const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":[1]}]}';
const SLOW = `POST /v2/models/slow/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

/** How many requests the slow model has answered. */
async function computed(): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${theirs.port}/v2/models/slow/stats`);
  const { model_stats: stats } = (await response.json()) as { readonly model_stats: readonly ModelStats[] };
  return Number(stats[0]!.inference_stats.success.count);
}

interface ModelStats {
  readonly inference_stats: { readonly success: { readonly count: number } };
}

it('Triton answers a client that has closed its sending half', async () => {
  await using connection = await RawConnection.open(theirs.port);
  await connection.send(SLOW);
  connection.end();
  expect((await connection.answer())?.status).toBe(200);
});

it('Triton computes for a client that has gone away', async () => {
  const before = await computed();
  {
    await using connection = await RawConnection.open(theirs.port);
    await connection.send(SLOW);
  }
  await expect.poll(computed, { timeout: 10_000 }).toBe(before + 1);
});
