// Replays the recorded scenarios of implicit state: models of a repository, whose config.pbtxt and initial files are the recorded
// ones, get their states as inputs and give them as outputs. What each execution got as its state is compared, and each answer.
import { expect, it, vi } from 'vitest';

import { GrpcService, type Message } from '../support/grpc-client.js';
import { bytesElements } from '../support/http-infer.js';
import { modelRepository } from '../support/model-repository.js';
import { startServer, type RunningServer } from '../support/start-server.js';
import { expanded, readSequences, type SequenceCase } from './sequence-cases.js';
import { POLL_MILLISECONDS, WAIT_MILLISECONDS } from '../support/waiting.js';
import { BEYOND_THE_ENGINE } from './sequence-rules.js';
import { REFUSED_STATES, STATE_RULES, type StateOutcome } from './sequence-state-rules.js';

interface StateCase extends SequenceCase {
  /** In hexadecimal digits. */
  readonly files?: Readonly<Record<string, string>>;
}

const CASES = readSequences<StateCase>('scenarios').filter(({ name }) => BEYOND_THE_ENGINE.test(name));
const WAITING = { interval: POLL_MILLISECONDS, timeout: WAIT_MILLISECONDS };
const SERVED = CASES.filter(({ name }) => !(name in REFUSED_STATES));
const CHANGES = new Map(STATE_RULES.flatMap(({ cases }) => Object.entries(cases)));

/** The recorded model. `info` tells what it got as its states. */
const MODULE = `
const sums = new Map();
const sizes = new Map();

function answerTo({ inputs, sequence }, batched, { states, writes }, reschedule) {
  const job = JSON.parse(inputs.note.strings()[0]);
  const x = inputs.x.data[0];
  const shape = batched ? [1, 1] : [1];
  const seen = {};
  for (const { name } of states) {
    const data = [...inputs[name].data].map((element) => (typeof element === 'number' ? element : String(element)));
    seen[name] = data.length === 1 ? data[0] : data;
  }
  const sum = (sequence === undefined || sequence.start ? 0 : sums.get(sequence.id)) + x;
  if (sequence !== undefined) sums.set(sequence.id, sum);
  if (job.steps > 1) reschedule();
  const numbers = states.filter(({ dtype }) => dtype === 'int32');
  // The recorded model looks at its last state first.
  const last = numbers.at(-1);
  const first = last === undefined ? x : inputs[last.name].data[0] + x;
  const info = { dtype: 'string', data: [JSON.stringify(seen)], shape };
  const outputs = { y: { dtype: 'int32', data: Int32Array.of(writes ? first : sum), shape }, info };
  if (!writes) return outputs;
  // The recorded model wrote to the buffer that its output has in common with the input.
  if (job.keep) inputs[last.name].data.fill(first);
  if (job.fails) throw new Error('asked to fail');
  if (job.keep || job.nostate) return outputs;
  const updated = job.half ? numbers.filter(({ output }) => output === 'q_out') : numbers;
  for (const { name, output } of updated) {
    const source = job.half ? 'q_in' : name;
    const size = job.dims ?? (sequence.start ? 1 : sizes.get(sequence.id));
    sizes.set(sequence.id, size);
    const data = new Int32Array(size).fill(inputs[source].data[0] + x);
    outputs[job.wrong ? 'other' : output] = { dtype: 'int32', data, shape: batched ? [1, size] : [size] };
  }
  return outputs;
}

export default (requests, { modelConfig, reschedule }) =>
  requests.map((request, row) => {
    try {
      const { maxBatchSize, sequenceBatching } = modelConfig;
      const states = sequenceBatching?.states ?? [];
      return answerTo(request, maxBatchSize > 0, { states, writes: WRITES }, () => reschedule(row));
    } catch (error) {
      return error;
    }
  });
`;

function filesOf({ name, config, files = {} }: StateCase): Readonly<Record<string, Uint8Array | string>> {
  const {
    max_batch_size: rows,
    sequence_batching: batching,
    dynamic_batching: dynamic,
    model_transaction_policy: policy,
    backend,
    input,
    output = [{ name: 'y', data_type: 'TYPE_INT32', dims: [1] }],
  } = config as StateCase['config'] & { readonly output?: readonly object[] };
  const text = {
    max_batch_size: rows,
    ...(batching && { sequence_batching: expanded(config) }),
    ...(dynamic && { dynamic_batching: dynamic }),
    ...(policy && { model_transaction_policy: policy }),
    input: input ?? [
      { name: 'x', data_type: 'TYPE_INT32', dims: [1] },
      { name: 'note', data_type: 'TYPE_STRING', dims: [1] },
    ],
    output: [...output, { name: 'info', data_type: 'TYPE_STRING', dims: [1] }],
  };
  return {
    [`${name}/config.pbtxt`]: textOf(text),
    [`${name}/1/model.mjs`]: MODULE.replace('WRITES', String(backend === 'implicit')),
    ...Object.fromEntries(Object.entries(files).map(([file, hex]) => [`${name}/${file}`, Buffer.from(hex, 'hex')])),
  };
}

/** A message in protobuf's text format. */
function textOf(message: object): string {
  return Object.entries(message)
    .flatMap(([name, given]) => (Array.isArray(given) ? (given as unknown[]) : [given]).map((value) => [name, value]))
    .map(([name, value]) => {
      if (typeof value === 'object') return `${String(name)} { ${textOf(value as object)} }`;
      const isText = typeof value === 'string' && !/^(TYPE|CONTROL)_/.test(value);
      return `${String(name)}: ${isText ? JSON.stringify(value) : String(value)}`;
    })
    .join('\n');
}

function requestOf({ name, config }: StateCase, arrival: SequenceCase['arrivals'][number]): Message {
  const { id, seq, start = false, end = false, x = 1, ...job } = arrival;
  const shape = config.max_batch_size > 0 ? [1, 1] : [1];
  return {
    model_name: name,
    id,
    parameters: {
      ...(seq !== undefined && { sequence_id: { int64_param: String(seq) } }),
      sequence_start: { bool_param: start },
      sequence_end: { bool_param: end },
    },
    inputs: [
      { name: 'x', datatype: 'INT32', shape },
      { name: 'note', datatype: 'BYTES', shape },
    ],
    raw_input_contents: [Buffer.from(Int32Array.of(x).buffer), bytesElements(JSON.stringify(job))],
  };
}

/** Sends all requests of a scenario over one stream, which keeps them in order. */
async function play(server: RunningServer, testCase: StateCase): Promise<StateOutcome> {
  using grpc = new GrpcService(server.grpc);
  const stream = grpc.stream();
  for (const [index, arrival] of testCase.arrivals.entries()) {
    if (arrival.id === 'A1' && testCase.name.includes('expired')) {
      await stream.until(index);
      await vi.waitUntil(async () => (await liveSequences(server, testCase)) === 0, WAITING);
    }
    stream.call.write(requestOf(testCase, arrival));
  }
  await stream.until(testCase.arrivals.length);
  stream.call.end();
  const outcome: StateOutcome = {};
  for (const { error_message: error, infer_response: response } of stream.messages) {
    const { id, raw_output_contents: raw } = response as {
      readonly id: string;
      readonly raw_output_contents: Buffer[];
    };
    const outputs = ((response as { readonly outputs?: { readonly name: string }[] }).outputs ?? []).map(
      ({ name }) => name,
    );
    if (typeof error === 'string' && error !== '') outcome[id] = `error ${error}`;
    else {
      const info = raw[outputs.indexOf('info')]!.toString('utf8', 4);
      outcome[id] = { y: raw[outputs.indexOf('y')]!.readInt32LE(0), state: JSON.parse(info) };
    }
  }
  return outcome;
}

async function liveSequences({ metrics }: RunningServer, { name }: StateCase): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return Number(new RegExp(`^tstriton_live_sequences\\{model="${name}",version="1"\\} (\\d+)$`, 'm').exec(text)![1]);
}

/** Memory that nobody set is zeros here. */
function recordedOf({ seen, seen_varies: varies }: StateCase): StateOutcome {
  const { executions = [], answers = {}, streams = {} } = (seen ?? varies![0])!;
  const states = new Map<string, unknown>();
  for (const row of executions.flatMap(({ batch }) => batch)) {
    if (row === null) continue;
    if (Array.isArray(row)) states.set(row[0] as string, stateOf((row[3] ?? {}) as Record<string, unknown>));
    else {
      const { id, ...tensors } = row as unknown as { readonly id: string | null; readonly [name: string]: unknown };
      const inputs = Object.entries(tensors).filter(([name]) => name.endsWith('_in'));
      if (id !== null) states.set(id, stateOf(Object.fromEntries(inputs)));
    }
  }
  const all = [
    ...Object.entries(answers),
    ...Object.values(streams).flatMap((each) => each.map((one) => [one.id, one])),
  ];
  return Object.fromEntries(
    (all as [string, { readonly answer: string; readonly text?: string; readonly y: number | string }][]).map(
      ([id, { answer, text, y }]) => [
        id,
        answer === 'ok' ? { y: inMemory(y), state: states.get(id) } : `error ${text}`,
      ],
    ),
  );
}

function stateOf(state: Readonly<Record<string, unknown>>): unknown {
  return Object.fromEntries(Object.entries(state).map(([name, value]) => [name, inMemory(value)]));
}

function inMemory(value: unknown): unknown {
  if (typeof value === 'string') return Number(value.replace(/^m\+?/, '') || '0');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return 'data' in value ? value.data : '';
}

it('keeps states as recorded, under the rules', async () => {
  const files = Object.assign({}, ...SERVED.map(filesOf)) as Record<string, string>;
  await using server = await startServer(() => undefined, {
    modelRepository: modelRepository(files).path,
    exitTimeoutSecs: 0,
  });
  const outcomes = await Promise.all(SERVED.map(async (testCase) => [testCase.name, await play(server, testCase)]));
  const expected = SERVED.map((testCase) => [
    testCase.name,
    { ...recordedOf(testCase), ...CHANGES.get(testCase.name) },
  ]);
  expect(Object.fromEntries(outcomes)).toEqual(Object.fromEntries(expected));
});

it.each(Object.entries(REFUSED_STATES))('does not load what has no sound meaning here: %s', async (name, text) => {
  const repository = modelRepository(filesOf(CASES.find((testCase) => testCase.name === name)!));
  await using server = await startServer(() => undefined, {
    modelRepository: repository.path,
    modelControlMode: 'explicit',
    restrictedEndpoints: [],
  });
  const response = await fetch(`${server.http}/v2/repository/models/${name}/load`, { method: 'POST' });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(text)]);
});

it('has rules for what differs only', () => {
  const recorded = new Map(SERVED.map((testCase) => [testCase.name, recordedOf(testCase)]));
  for (const [name, change] of CHANGES) expect({ ...recorded.get(name), ...change }).not.toEqual(recorded.get(name));
});
