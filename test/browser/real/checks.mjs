// What the client has to do wherever it runs: each check is a sentence and a function, which gets the package and the server's
// address. No assertion library: this runs in pages, workers and other runtimes as it is.

/** @typedef {typeof import('tstriton/client')} Client */

/**
 * @param {unknown} got
 * @param {unknown} expected
 */
function expectEqual(got, expected) {
  const [is, should] = [got, expected].map((value) => JSON.stringify(value));
  if (is !== should) throw new Error(`got ${is}, expected ${should}`);
}

/**
 * The error that a promise rejects with.
 * @param {Promise<unknown>} promise
 * @returns {Promise<any>}
 */
async function errorOf(promise) {
  return promise.then(
    () => {
      throw new Error('nothing was thrown');
    },
    (error) => error,
  );
}

/** @type {Readonly<Record<string, (client: Client, url: string) => Promise<void>>>} */
const CHECKS = {
  async 'infers a sample by name, and a batch'({ ModelClient }, url) {
    await using client = new ModelClient(url, 'Double');
    const { y } = await client.inferSample({ x: [1, 2.5] });
    expectEqual(y?.toNested(), [2, 5]);
    expectEqual((await client.inferBatch({ x: [[1], [2], [3]] }))['y']?.shape, [3, 1]);
  },
  async 'carries 4 MB each way'({ ModelClient }, url) {
    await using client = new ModelClient(url, 'Double');
    const x = Float32Array.from({ length: 1 << 20 }, (_, i) => i % 1000);
    const { y } = await client.inferSample({ x });
    expectEqual(y?.data.length, x.length);
    if (
      !(
        /** @type {Float32Array} */ (/** @type {unknown} */ (y?.data ?? [])).every(
          (value, i) => value === 2 * Number(x[i]),
        )
      )
    )
      throw new Error('other values');
  },
  async 'carries texts, 64-bit integers and float16 exactly'({ ModelClient, Tensor, defineModel }, url) {
    const dtypes = /** @type {const} */ (['string', 'int64', 'float16']);
    for (const dtype of dtypes) {
      const echo = defineModel({
        modelName: dtype,
        inputs: { x: { dtype, shape: [-1] } },
        outputs: { y: { dtype, shape: [-1] } },
        strict: true,
      });
      await using client = new ModelClient(url, echo);
      const values = { string: ['é', '', '😀'], int64: [2n ** 53n + 1n, -1n], float16: [1.5, -2] }[dtype];
      const { y } = await client.inferSample({ x: Tensor.from(dtype, /** @type {any} */ (values)) });
      const texts = (/** @type {unknown} */ value) => /** @type {unknown[]} */ (value).map(String);
      expectEqual(texts(y.toNested()), texts(values));
    }
  },
  async 'reads a stream in order, to its end'({ ModelClient }, url) {
    await using client = new ModelClient(url, 'Count');
    const seen = [];
    for await (const { i, text } of client.streamSample({ n: [200] }))
      seen.push(`${String(i?.data[0])}${text?.strings()[0]}`);
    expectEqual(seen.length, 200);
    expectEqual(seen.at(-1), '199é199');
  },
  async 'cancels at the server when a loop is left'({ ModelClient }, url) {
    await using client = new ModelClient(url, 'Endless');
    await using other = new ModelClient(url, 'Cancelled');
    const key = crypto.randomUUID();
    for await (const { data } of client.streamSample({ key: [key] })) {
      expectEqual(data?.strings()[0], key);
      break;
    }
    expectEqual((await other.inferSample({ key: [key] }))['seen']?.data[0], 1);
  },
  async 'cancels at the server when a call is aborted'({ ModelClient }, url) {
    await using client = new ModelClient(url, 'Never');
    await using other = new ModelClient(url, 'Cancelled');
    const controller = new AbortController();
    const key = crypto.randomUUID();
    const call = errorOf(client.inferSample({ key: [key] }, { signal: controller.signal }));
    await other.inferSample({ key: [`begun ${key}`] });
    controller.abort();
    expectEqual((await call).code, 'CANCELLED');
    expectEqual((await other.inferSample({ key: [key] }))['seen']?.data[0], 1);
  },
  async 'tells errors by their codes, and a deadline'({ ModelClient, TritonError, TritonTimeoutError }, url) {
    await using nope = new ModelClient(url, 'Nope');
    await using never = new ModelClient(url, 'Never');
    await using double = new ModelClient(url, 'Double');
    const unknown = await errorOf(nope.inferSample({ x: [1] }));
    expectEqual([TritonError.is(unknown), unknown.code], [true, 'NOT_FOUND']);
    expectEqual((await errorOf(double.inferSample({ z: [1] }))).code, 'INVALID_ARG');
    const late = await errorOf(never.inferSample({ key: ['late'] }, { timeoutMs: 100 }));
    expectEqual([TritonTimeoutError.is(late), late.code], [true, 'DEADLINE_EXCEEDED']);
  },
  async 'tells that nobody listens'({ ModelClient, TritonConnectionError }) {
    await using client = new ModelClient('http://127.0.0.1:2', 'Double');
    const error = await errorOf(client.inferSample({ x: [1] }));
    expectEqual([TritonConnectionError.is(error), error.code], [true, 'UNAVAILABLE']);
  },
  async 'asks the server of itself'({ ServerClient }, url) {
    await using server = new ServerClient(url);
    await server.waitForReady({ timeoutMs: 10_000, model: 'Double' });
    expectEqual(await server.isModelReady('Nope'), false);
    expectEqual((await server.modelConfig('Double')).maxBatchSize, 8);
    expectEqual((await server.modelMetadata('Double')).inputs, [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }]);
    const [statistics] = await server.statistics('Double');
    if (statistics === undefined || statistics.inferenceStats.success.count < 1) throw new Error('it counted nothing');
  },
  async 'runs many calls at once'({ ModelClient }, url) {
    await using client = new ModelClient(url, 'Double');
    const values = Array.from({ length: 100 }, (_, i) => i);
    const answers = await Promise.all(values.map((value) => client.inferSample({ x: [value] })));
    expectEqual(
      answers.map(({ y }) => y?.data[0]),
      values.map((value) => 2 * value),
    );
  },
};

/**
 * Runs all checks, one after the other. An outcome is '' when it went well.
 * @param {Client} client
 * @param {string} url
 */
export async function runChecks(client, url) {
  /** @type {{ name: string, outcome: string }[]} */
  const outcomes = [];
  for (const [name, check] of Object.entries(CHECKS)) {
    const outcome = await check(client, url).then(
      () => '',
      (error) => String(error?.stack ?? error),
    );
    outcomes.push({ name, outcome });
  }
  return outcomes;
}
