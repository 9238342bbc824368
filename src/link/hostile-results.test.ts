/* oxlint-disable unicorn/no-thenable -- callables of users do such things */
// Callables that give something else than results, or errors that cannot be read: whatever they give fails the requests
// that it was given for, and nothing else.
import { afterEach, describe, expect, it } from 'vitest';

import { groupByKeys } from '../callables/group-by-keys.js';
import { stream } from '../callables/stream.js';
import { TritonError, TritonUnrecoverableError } from '../errors.js';
import {
  describeResult,
  executionRequest,
  hostCallable,
  outcomes,
  Run,
  type AnyCallable,
  type HostedInstance,
  type InstanceKind,
} from '../../test/support/instances.js';
import { wireTensor } from '../../test/support/infer-requests.js';

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
} as const;

const opened: HostedInstance[] = [];
afterEach(() => opened.splice(0).forEach((host) => host.close()));

function host(kind: InstanceKind, callable: unknown, decoupled = false): HostedInstance {
  const hosted = hostCallable(kind, { ...SPEC, config: { decoupled } }, callable as AnyCallable);
  opened.push(hosted);
  return hosted;
}

const x = (...values: number[]) => executionRequest([wireTensor('x', 'float32', Float32Array.from(values), [1, 1])]);

class Hidden {
  get y(): unknown {
    return [[1]];
  }
}

function thrower(what: string): never {
  throw new Error(`${what} is not to be read`);
}

/** Errors of which something cannot be read, by what it is. */
const UNREADABLE: Readonly<Record<string, () => unknown>> = {
  'an error whose message throws': () =>
    Object.defineProperty(new Error('x'), 'message', { get: () => thrower('message') }),
  'an error whose stack throws': () => Object.defineProperty(new Error('x'), 'stack', { get: () => thrower('stack') }),
  'an error whose message is no string': () => Object.assign(new Error('x'), { message: { toString: thrower } }),
  'a TritonError whose message throws': () =>
    Object.defineProperty(new TritonError('INVALID_ARG', 'x'), 'message', { get: () => thrower('message') }),
  'a TritonError whose stack throws': () =>
    Object.defineProperty(new TritonError('INVALID_ARG', 'x'), 'stack', { get: () => thrower('stack') }),
  'a TritonError whose code throws': () =>
    Object.defineProperty(new TritonError('INVALID_ARG', 'x'), 'code', { get: () => thrower('code') }),
  'a TritonError whose cause throws': () =>
    Object.defineProperty(new TritonError('INVALID_ARG', 'x'), 'cause', { get: () => thrower('cause') }),
  'an unrecoverable error whose message throws': () =>
    Object.defineProperty(new TritonUnrecoverableError('x'), 'message', { get: () => thrower('message') }),
  'an object whose message throws': () => ({
    get message() {
      return thrower('message');
    },
  }),
  'a proxy that refuses everything': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
};

describe.each<InstanceKind>(['inline', 'port'])('in the place of one result (%s)', (kind) => {
  it.each<[string, () => unknown, string]>([
    ['an Error', () => new RangeError('no such row'), 'INTERNAL no such row'],
    ['a Date', () => new Date(0), "INTERNAL model 'm' returned a Date, expected a record"],
    ['a regular expression', () => /x/, "INTERNAL model 'm' returned a RegExp, expected a record"],
    ['an ArrayBuffer', () => new ArrayBuffer(4), "INTERNAL model 'm' returned an ArrayBuffer, expected a record"],
    ['a WeakMap', () => new WeakMap(), "INTERNAL model 'm' returned a WeakMap, expected a record"],
    ['a boxed number', () => Object(7), "INTERNAL model 'm' returned a Number, expected a record"],
    ['an object without members of its own', () => new Hidden(), "INTERNAL model 'm' returned a Hidden, expected a"],
    ['a record with a getter that throws', () => ({ get y() { return thrower('y'); } }), 'INTERNAL y is not to be read'], // prettier-ignore
    ['a thenable that throws', () => ({ get then() { return thrower('then'); } }), "INTERNAL model 'm' returned an output 'then' that is not declared"], // prettier-ignore
    ...Object.entries(UNREADABLE).map(([what, make]) => [what, make, ''] as [string, () => unknown, string]),
  ])('%s fails that request alone', async (_, make, expected) => {
    const { instance } = host(kind, (requests: readonly unknown[]) =>
      requests.map((request, index) => (index === 1 ? make() : request)),
    );
    const [first, second, third] = await outcomes(instance, [x(1), x(2), x(3)]);
    expect([first, third]).toEqual(['y FP32 [1,1] 1', 'y FP32 [1,1] 3']);
    expect(second).toMatch(/^(INTERNAL|INVALID_ARG) ./);
    expect(second).toContain(expected);
    expect(await outcomes(instance, [x(4)])).toEqual(['y FP32 [1,1] 4']);
  });

  it('an Error is logged with its stack', async () => {
    const { instance, errors } = host(kind, () => [new RangeError('no such row')]);
    await outcomes(instance, [x(1)]);
    expect(errors).toEqual([expect.stringMatching(/^the callable failed: RangeError: no such row\n +at /)]);
  });
});

describe.each<InstanceKind>(['inline', 'port'])('a list that was given away (%s)', (kind) => {
  it.each<[string, AnyCallable]>([
    ['emptied', (requests) => (((requests as unknown[]).length = 0), [])],
    ['emptied and returned', (requests) => (((requests as unknown[]).length = 0), requests)],
    ['of the context emptied', (_, { requests }) => (((requests as unknown[]).length = 0), requests)],
  ])('is %s: the requests fail', async (_, callable) => {
    const { instance } = host(kind, callable);
    const failure = "INTERNAL model 'm' returned 0 results for 2 requests, expected one result per request";
    expect(await outcomes(instance, [x(1), x(2)])).toEqual([failure, failure]);
  });

  it('may hold the results', async () => {
    const { instance } = host(kind, (requests: unknown[]) => {
      requests.splice(0, 2, { y: [[5]] }, { y: [[6]] });
      return requests;
    });
    expect(await outcomes(instance, [x(1), x(2)])).toEqual(['y FP32 [1,1] 5', 'y FP32 [1,1] 6']);
  });
});

describe.each<InstanceKind>(['inline', 'port'])('thrown (%s)', (kind) => {
  const errors = Object.entries(UNREADABLE);

  it.each(errors)('%s fails the batch, and the next one is served', async (_, make) => {
    for (const callable of [
      () => {
        throw make();
      },
      () => Promise.reject(make() as Error),
      () => [Promise.reject(make() as Error)],
      groupByKeys((() => {
        throw make();
      }) as never),
    ]) {
      let failing = true;
      const { instance } = host(kind, (requests: never, context: never) =>
        failing ? (callable as unknown as AnyCallable)(requests, context) : requests,
      );
      expect(await outcomes(instance, [x(1)])).toEqual([expect.stringMatching(/^(INTERNAL|INVALID_ARG) ./)]);
      failing = false;
      expect(await outcomes(instance, [x(1)])).toEqual(['y FP32 [1,1] 1']);
    }
  });

  it.each(errors)('%s ends a stream of answers', async (_, make) => {
    for (const yields of [true, false]) {
      const { instance } = host(
        kind,
        stream(async function* () {
          yield { y: [[1]] };
          if (yields) yield make() as never;
          throw make();
        }),
        true,
      );
      const seen: string[] = [];
      await new Promise<void>((resolve) => {
        instance.execute([x(1)], () => resolve(), {
          respond: (_index, outputs) =>
            void seen.push(describeResult({ kind: 'outputs', outputs, parameters: undefined })),
          end: (_index, error) => void seen.push(`${error?.code} ${error?.message}`),
          recordMetrics: () => undefined,
        });
      });
      expect(seen).toEqual(['y FP32 [1,1] 1', expect.stringMatching(/^(INTERNAL|INVALID_ARG) ./)]);
    }
  });

  it('an unrecoverable error is told all the same', async () => {
    const { instance } = host(kind, () => {
      throw UNREADABLE['an unrecoverable error whose message throws']!();
    });
    const told = new Promise<TritonError>((resolve) => (opened.at(-1)!.onUnrecoverable = resolve));
    await new Run(instance, [x(1)]).ended;
    expect(TritonUnrecoverableError.is(await told)).toBe(true);
    expect((await told).message).toBe('what was thrown cannot be read');
  });
});
