// The log lines about failing callables, for the server's operator.
import { describe, expect, it, vi } from 'vitest';

import { batch } from '../callables/batch.js';
import { stream } from '../callables/stream.js';
import { TritonError } from '../errors.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { Callable } from '../model/callable.js';
import { hostedCallable } from './callable-turns.js';
import { InlineInstance } from '../link/inline-instance.js';

const REQUEST = {
  id: '',
  parameters: undefined,
  inputs: [{ name: 'n', datatype: 'INT32', shape: [1, 1], bytes: new Uint8Array(4) }],
  rows: 1,
  memory: undefined,
  requestedOutputs: [],
} as const;

/** Runs one request, cancelled right away when asked, beside others that are not, and tells what was logged. */
async function logOf(
  callable: unknown,
  { decoupled = false, cancelled = false, others = 0, isolateFailures = false } = {},
) {
  const error = vi.fn<(message: string) => void>();
  const info = vi.fn<(message: string) => void>();
  const verbose = vi.fn<(level: number, message: string) => void>();
  const logger = { error, verbose, warn: () => undefined, info };
  const config = completeModelConfig(
    {
      modelName: 'm',
      inputs: { n: { dtype: 'int32', shape: [1] } },
      outputs: { i: { dtype: 'int32', shape: [1] } },
      config: { decoupled, isolateFailures },
    },
    1,
  );
  const instance = new InlineInstance(config, hostedCallable(callable as Callable, config.concurrency), { logger });
  await new Promise<void>((resolve) => {
    const responses = { respond: () => undefined, end: () => undefined, recordMetrics: () => undefined };
    const execution = instance.execute(
      [REQUEST, ...Array<typeof REQUEST>(others).fill(REQUEST)],
      () => resolve(),
      decoupled ? responses : undefined,
    );
    if (cancelled) execution.cancel(0);
  });
  return {
    errors: error.mock.calls.map(([message]) => message),
    told: info.mock.calls.map(([message]) => message),
    verbose: verbose.mock.calls.map(([, message]) => message),
  };
}

const failing = async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
  await Promise.resolve();
  signal.throwIfAborted();
  throw new RangeError('no such row');
};

describe('the log of failures', () => {
  it('has the stack of what a callable threw', async () => {
    const { errors } = await logOf(failing);
    expect(errors).toEqual([expect.stringMatching(/^the callable failed: RangeError: no such row\n +at /)]);
  });

  it('has the stack of what a stream of responses threw', async () => {
    const { errors } = await logOf(
      stream(async function* (inputs, context) {
        yield { i: [[1]] };
        await failing(inputs, context);
      }),
      { decoupled: true },
    );
    expect(errors).toEqual([expect.stringMatching(/^the callable failed: RangeError: no such row\n +at /)]);
  });

  it.each([false, true])(
    'is quiet about callables that stop because nobody waits for them (decoupled: %s)',
    async (decoupled) => {
      const callable = decoupled
        ? stream(async function* (_, { signal }) {
            yield { i: [[1]] };
            await Promise.resolve();
            signal.throwIfAborted();
          })
        : failing;
      expect((await logOf(callable, { decoupled, cancelled: true })).errors).toEqual([]);
      expect((await logOf(callable, { decoupled })).errors).toHaveLength(decoupled ? 0 : 1);
    },
  );

  it('has one line for a refusal that the callable throws on purpose, and its stack where it is verbose', async () => {
    const refusing = () => {
      throw new TritonError('INVALID_ARG', 'no cats, please');
    };
    const { errors, told, verbose } = await logOf(refusing);
    expect(errors).toEqual([]);
    expect(told).toEqual(['the callable refused a request: INVALID_ARG: no cats, please']);
    expect(verbose).toEqual([expect.stringMatching(/^the callable refused by .*no cats, please\n +at /)]);
    expect((await logOf(refusing, { others: 2 })).told).toEqual([
      'the callable refused 3 requests: INVALID_ARG: no cats, please',
    ]);
    const unable = () => {
      throw new TritonError('UNAVAILABLE', 'no cats today');
    };
    expect((await logOf(unable)).errors).toEqual([
      expect.stringMatching(/^the callable failed: .*no cats today\n +at /),
    ]);
  });

  it('has what fails a batch in which only some clients are gone', async () => {
    const callable = async () => Promise.reject(new RangeError('no such row'));
    expect((await logOf(callable, { cancelled: true, others: 1 })).errors).toHaveLength(1);
    expect((await logOf(callable, { cancelled: true })).errors).toEqual([]);
  });

  it('has the stack of what one request’s promise was rejected with', async () => {
    const { errors } = await logOf((requests: readonly unknown[]) =>
      requests.map(async () => {
        throw new RangeError('no such row');
      }),
    );
    expect(errors).toEqual([expect.stringMatching(/^the callable failed: RangeError: no such row\n +at /)]);
  });
});

describe('a rejected promise in the place of outputs', () => {
  const rejected = () => Promise.reject(new Error('not seen'));

  it.each<[string, unknown, Parameters<typeof logOf>[1]?]>([
    ['of a request', () => [{ i: rejected() }, {}]],
    ['of a row', () => [{ i: [rejected()] }, {}]],
    ['under batch', batch((() => ({ i: rejected() })) as never)],
    ['of a row under batch', batch((() => ({ i: [rejected(), rejected()] })) as never)],
    [
      'of a step under batch',
      batch(function* () {
        yield { i: rejected() };
      } as never),
      { decoupled: true },
    ],
    [
      'of more than one request that runs alone',
      (requests: readonly unknown[]) => {
        if (requests.length > 1) throw new Error('not together');
        return [rejected(), rejected()];
      },
      { isolateFailures: true },
    ],
  ])('fails its request, and not the process: %s', async (_, callable, options) => {
    const { errors } = await logOf(callable, { others: 1, ...options });
    expect(errors).not.toEqual([]);
    // A rejection that nobody takes would fail this file.
    await new Promise((resolve) => setImmediate(resolve));
  });
});
