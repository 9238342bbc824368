// What a server is asked, wherever the callables run. A case returns what it was answered, as plain data. `differs` says why
// tritonserver answers differently; then the two answers are not compared, but must not be equal either.
import { setTimeout as delay } from 'node:timers/promises';

import { ModelClient } from 'tstriton/client';

/**
 * @typedef {object} Engine
 * @property {string} http
 * @property {string} grpc
 */
/**
 * @typedef {object} Case
 * @property {string} name
 * @property {(engine: Engine) => Promise<unknown>} ask
 * @property {string} [differs]
 */

/** @type {{ close(): Promise<void> }[]} */
const clients = [];

/**
 * @param {string} url
 * @param {string} model
 */
function openClient(url, model) {
  const client = /** @type {any} */ (new ModelClient(url, model, { timeoutMs: 60_000 }));
  clients.push(client);
  return client;
}

/** Closes what the cases have opened. */
export async function closeClients() {
  await Promise.all(clients.map((client) => client.close()));
}

/**
 * @param {Engine} engine
 * @param {string} path
 * @param {object} [body]
 * @param {Record<string, string>} [headers]
 */
async function send({ http }, path, body, headers = {}) {
  const response = await fetch(`${http}/v2/${path}`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers,
  });
  const text = await response.text();
  return { status: response.status, body: parsed(text) };
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * @param {Engine} engine
 * @param {string} model
 * @param {Record<string, [datatype: string, shape: number[], data: unknown[]]>} inputs
 * @param {object} [more]
 */
function infer(engine, model, inputs, more = {}) {
  const list = Object.entries(inputs).map(([name, [datatype, shape, data]]) => ({ name, datatype, shape, data }));
  return send(engine, `models/${model}/infer`, { inputs: list, ...more });
}

/** @type {Record<string, unknown[]>} */
const ELEMENTS = {
  BOOL: [true, false, false, true],
  INT8: [-128, 127, 0, 1],
  INT16: [-32_768, 32_767, 0, 1],
  INT32: [-(2 ** 31), 2 ** 31 - 1, 0, 1],
  INT64: [-(2 ** 53) + 1, 2 ** 53 - 1, 0, 1],
  UINT8: [0, 255, 1, 2],
  UINT16: [0, 65_535, 1, 2],
  UINT32: [0, 2 ** 32 - 1, 1, 2],
  UINT64: [0, 2 ** 53 - 1, 1, 2],
  FP32: [0.5, -1.25, 3e38, 0],
  FP64: [0.1, -1e300, 5e-324, 0],
  BYTES: ['', 'one', 'zwölf \u{1f600}', 'x'.repeat(3000)],
};

/** Models whose instances run several batches at the same time. */
const CONCURRENT = new Set(['Count', 'Three']);

/** @type {Case[]} */
export const CASES = [
  ...Object.entries(ELEMENTS).flatMap(([datatype, data]) => [
    {
      name: `${datatype} comes back over HTTP`,
      ask: (/** @type {Engine} */ engine) => infer(engine, `Identity${datatype}`, { x: [datatype, [1, 2, 2], data] }),
    },
    {
      name: `${datatype} comes back over gRPC, in two rows`,
      ask: (/** @type {Engine} */ engine) => identityOverGrpc(engine, datatype),
    },
  ]),
  { name: 'FP16 comes back over gRPC, in two rows', ask: (engine) => identityOverGrpc(engine, 'FP16') },
  {
    name: 'an empty tensor comes back',
    ask: (engine) => infer(engine, 'IdentityINT32', { x: ['INT32', [1, 0, 2], []] }),
  },
  {
    name: 'a tensor of 8 MB comes back',
    ask: async (engine) => {
      const client = openClient(engine.http, 'Unbatched');
      const data = new Uint8Array(8_000_003).map((_, i) => (i * 7919) >> 5);
      const { y } = await client.inferSample({ x: { dtype: 'uint8', shape: [1, data.length], data } });
      return Buffer.compare(Buffer.from(y.data), Buffer.from(data)) === 0;
    },
  },
  {
    name: '200 different requests at once each get their own answer',
    ask: async (engine) => {
      const client = openClient(engine.grpc, 'AddSub');
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, i) => {
          const a = new Float32Array(1 + (i % 3)).fill(i);
          const b = a.map((value) => value / 4);
          const { add, sub } = await client.inferSample({ a, b });
          return [...add.data, ...sub.data];
        }),
      );
      return answers;
    },
  },
  {
    // tritonserver tells the end of such a call four times, which once ended the connection of all others.
    name: 'deadlines that pass harm no other call',
    ask: async (engine) => {
      const client = openClient(engine.grpc, 'Three');
      const asked = async (/** @type {number} */ x, /** @type {object} */ options = {}) =>
        client.inferSample({ x: [x] }, options).then(
          (/** @type {any} */ { y }) => y.data[0],
          (/** @type {any} */ { code }) => code,
        );
      const answers = [];
      for (let round = 0; round < 20; round++) {
        const late = Array.from({ length: 40 }, (_, i) => asked(i, { timeoutMs: 2 + i }));
        answers.push(await Promise.all(Array.from({ length: 10 }, (_, i) => asked(100 * round + i))));
        const isOther = (await Promise.all(late)).find((answer, i) => answer !== i && answer !== 'DEADLINE_EXCEEDED');
        answers.push(isOther);
      }
      return answers;
    },
  },
  {
    name: 'labels are told',
    ask: (engine) =>
      infer(
        engine,
        'Scores',
        { x: ['FP32', [1, 4], [1, 4, 2, 3]] },
        { outputs: [{ name: 'scores', parameters: { classification: 2 } }] },
      ),
  },
  {
    name: 'an optional input may be there',
    ask: (engine) => infer(engine, 'Scale', { x: ['FP32', [1, 2], [1, 2]], factor: ['FP32', [1, 1], [5]] }),
  },
  {
    name: 'an optional input may be missing',
    ask: (engine) => infer(engine, 'Scale', { x: ['FP32', [1, 2], [1, 2]] }),
  },
  {
    name: 'a callable sees id, parameters, timeout, sequence and requested outputs',
    ask: (engine) =>
      infer(
        engine,
        'Tells',
        { x: ['INT32', [1, 1], [1]] },
        {
          id: 'me',
          parameters: {
            text: 'x',
            yes: true,
            small: 5,
            big: 2 ** 40,
            timeout: 1_000_000,
            sequence_id: 5,
            sequence_start: true,
          },
          outputs: [{ name: 'text' }],
        },
      ),
  },
  {
    name: 'a callable sees nothing where nothing is said',
    ask: (engine) => infer(engine, 'Tells', { x: ['INT32', [3, 1], [1, 2, 3]] }),
  },
  {
    name: 'an answer has parameters',
    differs: 'the python backend of Triton 2.51 takes no parameters of answers; newer ones do',
    ask: (engine) => infer(engine, 'Answers', { x: ['INT32', [1, 1], [1]] }),
  },
  ...[
    'fine',
    'throw',
    'row',
    'shape',
    'nothing',
    ...[
      'INVALID_ARG',
      'NOT_FOUND',
      'UNAVAILABLE',
      'INTERNAL',
      'UNSUPPORTED',
      'ALREADY_EXISTS',
      'UNKNOWN',
      'CANCELLED',
    ].map((code) => `code ${code}`),
  ].flatMap((how) => [
    {
      name: `a failure over HTTP: ${how}`,
      ask: (/** @type {Engine} */ engine) => infer(engine, 'Fails', { how: ['BYTES', [1, 1], [how]] }),
    },
    {
      name: `a failure over gRPC: ${how}`,
      ask: async (/** @type {Engine} */ engine) => {
        const client = openClient(engine.grpc, 'Fails');
        return client.inferSample({ how: [how] }).then(
          (/** @type {any} */ { y }) => y.strings(),
          (/** @type {any} */ { code, message }) => ({ code, message }),
        );
      },
    },
  ]),
  {
    name: 'a request fails alone among those of its batch',
    ask: (engine) =>
      Promise.all([1, -2, 3, -4, 5, 6].map((x) => infer(engine, 'FailsOne', { x: ['INT32', [1, 1], [x]] }))),
  },
  ...[0, 1, 4, 200].map((n) => ({
    name: `a stream has ${n} answers`,
    ask: (/** @type {Engine} */ engine) => count(engine, n),
  })),
  { name: 'a stream fails after some answers', ask: countBeforeFailure },
  {
    name: 'a stream fails with the code of its callable',
    differs: 'the streams of tritonserver carry the text of an error alone',
    ask: (engine) => count(engine, 16),
  },
  {
    name: 'streams that fail at the same time end alone',
    ask: async (engine) => {
      const texts = [];
      for (let round = 0; round < 40; round++)
        texts.push(await Promise.all([16, 3, 16, 5, 16].map((n) => countText(engine, n))));
      return texts;
    },
  },
  {
    name: 'streams at once each have their own answers',
    ask: (engine) => Promise.all([3, 5, 7, 9, 11].map((n) => count(engine, n))),
  },
  {
    name: 'different requests on six instances at once each get their own answer',
    ask: (engine) =>
      Promise.all(Array.from({ length: 60 }, (_, i) => infer(engine, 'Three', { x: ['INT32', [1, 1], [i]] }))),
  },
  {
    name: 'instances in threads answer',
    ask: (engine) =>
      Promise.all(Array.from({ length: 20 }, (_, i) => infer(engine, 'Threads', { x: ['INT32', [1, 1], [i]] }))),
  },
  {
    name: 'a model was warmed up',
    ask: (engine) => infer(engine, 'Warm', { x: ['FP32', [1, 3], [1, 2, 3]], text: ['BYTES', [1, 1], ['asked']] }),
  },
  {
    name: 'the cache answers the second of two equal requests',
    ask: async (engine) => {
      const answers = [];
      for (const x of [4, 4, 5]) answers.push(await infer(engine, 'Cached', { x: ['INT32', [1], [x]] }));
      return answers;
    },
  },
  {
    name: 'a callable learns that a gRPC client is gone',
    ask: async (engine) => {
      const client = openClient(engine.grpc, 'Waits');
      const counted = async (/** @type {number} */ index) => {
        for (;;) {
          const { y } = await client.inferSample({ x: [0] });
          if (y.data[index] === 1) return [...y.data];
          await delay(20);
        }
      };
      const leaving = new AbortController();
      const asked = client.inferSample({ x: [1] }, { signal: leaving.signal });
      const before = await counted(0);
      leaving.abort();
      await asked.catch(() => undefined);
      return [before, await counted(1)];
    },
  },
  // What the server refuses itself.
  { name: 'an unknown model is refused', ask: (engine) => infer(engine, 'Nobody', {}) },
  { name: 'a missing input is refused', ask: (engine) => infer(engine, 'AddSub', { a: ['FP32', [1, 1], [1]] }) },
  {
    name: 'an unknown input is refused',
    ask: (engine) => infer(engine, 'IdentityINT8', { y: ['INT8', [1, 1, 2], [1, 2]] }),
  },
  {
    name: 'a wrong dtype is refused',
    ask: (engine) => infer(engine, 'IdentityINT8', { x: ['INT16', [1, 1, 2], [1, 2]] }),
  },
  {
    name: 'a wrong shape is refused',
    ask: (engine) => infer(engine, 'IdentityINT8', { x: ['INT8', [1, 3], [1, 2, 3]] }),
  },
  {
    name: 'too large a batch is refused',
    ask: (engine) => infer(engine, 'IdentityINT8', { x: ['INT8', [9, 1, 2], Array(18).fill(1)] }),
  },
  {
    name: 'an unknown output is refused',
    ask: (engine) => infer(engine, 'IdentityINT8', { x: ['INT8', [1, 1, 2], [1, 2]] }, { outputs: [{ name: 'z' }] }),
  },
  { name: 'a load without the token is refused', ask: (engine) => send(engine, 'repository/models/AddSub/load', {}) },
  ...['AddSub', 'Count', 'Scale', 'Scores', 'Unbatched', 'Warm', 'Cached', 'Three'].flatMap((model) => [
    {
      name: `the metadata of ${model} is the same`,
      ask: async (/** @type {Engine} */ engine) => metadata(await send(engine, `models/${model}`)),
    },
    {
      name: `the configuration of ${model} is the same`,
      ...(CONCURRENT.has(model)
        ? { differs: 'tritonserver has an instance for each batch that may run at the same time' }
        : {}),
      ask: async (/** @type {Engine} */ engine) => configuration(await send(engine, `models/${model}/config`)),
    },
    { name: `${model} is ready`, ask: (/** @type {Engine} */ engine) => send(engine, `models/${model}/ready`) },
  ]),
  ...['AddSub', 'Fails', 'Cached', 'Threads'].map((model) => ({
    name: `the statistics of ${model} count the same`,
    ...(model === 'Fails' ? { differs: 'the python backend counts a request that fails alone as a success' } : {}),
    ask: async (/** @type {Engine} */ engine) => statistics(await send(engine, `models/${model}/stats`)),
  })),
];

/**
 * @param {Engine} engine
 * @param {string} datatype
 */
async function identityOverGrpc({ grpc }, datatype) {
  const client = openClient(grpc, `Identity${datatype}`);
  const data = datatype === 'FP16' ? [0.5, -2, 65_504, 0] : /** @type {unknown[]} */ (ELEMENTS[datatype]);
  const rows = [[data.slice(0, 2)], [data.slice(2)]];
  const { y } = await client.inferBatch(
    /** @type {never} */ ({
      x:
        datatype.includes('64') && datatype.includes('INT')
          ? rows.map((row) => row.map((two) => two.map((value) => BigInt(Number(value)))))
          : rows,
    }),
  );
  return [y.dtype, y.shape, Array.from(/** @type {ArrayLike<unknown>} */ (y.data), String)];
}

/**
 * @param {Engine} engine
 * @param {number} n
 */
async function count({ grpc }, n) {
  const client = openClient(grpc, 'Count');
  const answers = [];
  try {
    for await (const { i, text } of client.streamSample({ n: [n] })) answers.push([i.data[0], text.strings()[0]]);
  } catch (error) {
    const { code, message } = /** @type {{ code: string, message: string }} */ (error);
    answers.push({ code, message });
  }
  return answers;
}

/**
 * What `count` gives, without the code of an error.
 *
 * @param {Engine} engine
 * @param {number} n
 */
async function countText(engine, n) {
  const answers = await count(engine, n);
  return answers.map((answer) => ('message' in answer ? answer.message : answer));
}

/**
 * The answers of a request that fails, on a stream where errors are messages.
 *
 * @param {Engine} engine
 */
async function countBeforeFailure({ grpc }) {
  const client = openClient(grpc, 'Count');
  const requests = client.stream();
  await requests.send({ n: [16] });
  requests.end();
  const answers = [];
  for await (const { outputs, error } of requests)
    answers.push(error?.message ?? [outputs?.i?.data[0], outputs?.text?.strings()[0]]);
  return answers;
}

/** @param {{ body: any }} answer */
function metadata({ body }) {
  const { platform: _, ...rest } = body;
  return rest;
}

/** Without what names the backend. @param {{ body: any }} answer */
function configuration({ body }) {
  const {
    backend: _backend,
    default_model_filename: _file,
    model_warmup: _warmup,
    instance_group: groups,
    output,
    ...rest
  } = body;
  return {
    ...rest,
    count: groups[0].count,
    output: output.map((/** @type {any} */ { label_filename: _label, ...more }) => more),
  };
}

/** The counts: times differ. @param {{ body: any }} answer */
function statistics({ body }) {
  return body.model_stats.map(
    (
      /** @type {any} */ {
        name,
        version,
        inference_count: inferences,
        execution_count: executions,
        inference_stats: all,
      },
    ) => ({
      name,
      version,
      inferences,
      executions: name === 'AddSub' || name === 'Threads' ? 'as the batches come' : executions,
      counts: Object.entries(all).map(([part, { count: counted }]) => [part, counted]),
    }),
  );
}
