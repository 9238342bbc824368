// Methods that were bound without their object: they compute with nothing of ours, and the error says how to bind them.
import { afterEach, describe, expect, it } from 'vitest';

import { wireTensor } from '../../test/support/infer-requests.js';
import {
  describeResult,
  executionRequest,
  hostCallable,
  outcomes,
  type AnyCallable,
  type HostedInstance,
  type InstanceKind,
} from '../../test/support/instances.js';
import { batch } from '../callables/batch.js';
import { groupByKeys } from '../callables/group-by-keys.js';
import { stream } from '../callables/stream.js';
import type { Tensor } from '../tensor/tensor.js';

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
} as const;

const opened: HostedInstance[] = [];
afterEach(() => opened.splice(0).forEach((host) => host.close()));

function host(kind: InstanceKind, callable: unknown, decoupled = false): HostedInstance {
  const hosted = hostCallable(kind, { ...SPEC, config: { decoupled } }, callable as AnyCallable);
  opened.push(hosted);
  return hosted;
}

const x = (value: number) => executionRequest([wireTensor('x', 'float32', Float32Array.of(value), [1, 1])]);

type Requests = readonly { readonly inputs: { readonly x: Tensor<'float32'> } }[];
type Inputs = Requests[number]['inputs'];

class Scaler {
  factor = 3;

  infer(requests: Requests) {
    return requests.map(({ inputs }) => ({ y: inputs.x.map((value) => value * this.factor) }));
  }
  async later(requests: Requests) {
    await Promise.resolve();
    return this.infer(requests);
  }
  each(requests: Requests) {
    return requests.map(async ({ inputs }) => ({ y: inputs.x.map((value) => value * this.factor) }));
  }
  *steps(requests: Requests) {
    yield this.infer(requests);
  }
  scale({ x: values }: Inputs) {
    return { y: values.map((value) => value * this.factor) };
  }
  async *tokens({ x: values }: Inputs) {
    yield { y: values.map((value) => value * this.factor) };
  }
  seen(this: unknown, requests: Requests) {
    seenObjects.push(this);
    return requests.map(({ inputs }) => ({ y: inputs.x }));
  }
  guarded(this: Scaler | undefined, requests: Requests) {
    const factor = this?.factor ?? 1;
    return requests.map(({ inputs }) => ({ y: inputs.x.map((value) => value * factor) }));
  }
  broken(requests: Requests) {
    const { config } = requests[0] as unknown as { config: { factor: number } };
    return config.factor;
  }
}
const seenObjects: unknown[] = [];
const scaler = new Scaler();
// As `@batch decorated(inputs) {…}` makes it.
const decorated = Object.assign(Object.create(Scaler.prototype) as Scaler, {
  factor: 3,
  decorated: (batch as (method: unknown, context: unknown) => unknown)(Scaler.prototype.scale, { kind: 'method' }),
});

const lost = (member: string, name: string) =>
  `INTERNAL Cannot read properties of undefined (reading '${member}'): method '${name}' lost its object: it was called with 'this' undefined. `;
const bindRequests = (name: string) =>
  `Bind (requests, context) => object.${name}(requests, context), or { object, method: '${name}' }`;
const bindInputs = (name: string) =>
  `Decorate (inputs, context) => object.${name}(inputs, context), or the method itself, and bind { object, method: '${name}' }`;

describe.each<InstanceKind>(['inline', 'port'])('a method that was bound without its object (%s)', (kind) => {
  it('gets no object of ours', async () => {
    const { instance } = host(kind, scaler.seen);
    expect(await outcomes(instance, [x(1)])).toEqual(['y FP32 [1,1] 1']);
    expect(seenObjects.splice(0)).toEqual([undefined]);
  });

  it.each<[string, unknown, string]>([
    ['a method', scaler.infer, lost('factor', 'infer') + bindRequests('infer')],
    ['an asynchronous one', scaler.later, lost('infer', 'later') + bindRequests('later')],
    ['one that promises each result', scaler.each, lost('factor', 'each') + bindRequests('each')],
    ['one under batch', batch(scaler.scale as never), lost('factor', 'scale') + bindInputs('scale')],
    ['one under groupByKeys', groupByKeys(scaler.infer as never), lost('factor', 'infer') + bindRequests('infer')],
    [
      'one under two decorators',
      groupByKeys(batch(scaler.scale as never) as never),
      lost('factor', 'scale') + bindInputs('scale'),
    ],
    ['a decorated one', decorated.decorated, lost('factor', 'scale') + bindRequests('scale')],
  ])('is told so where it is %s', async (_, callable, expected) => {
    const { instance, errors } = host(kind, callable);
    expect(await outcomes(instance, [x(1), x(2)])).toEqual([expected, expected]);
    // With the stack, which leads to the method.
    expect(errors[0]).toContain(`the callable failed: ${expected.slice('INTERNAL '.length)}\n    at `);
  });

  it.each<[string, unknown, string]>([
    ['a generator', scaler.steps, lost('infer', 'steps') + bindRequests('steps')],
    ['a generator under stream', stream(scaler.tokens as never), lost('factor', 'tokens') + bindInputs('tokens')],
  ])('is told so where it is %s', async (_, callable, expected) => {
    const { instance } = host(kind, callable, true);
    const ends: string[] = [];
    await new Promise<void>((resolve) => {
      instance.execute(
        [x(1)],
        (results) => {
          ends.push(...results.map(describeResult).filter((text) => text !== ''));
          resolve();
        },
        {
          respond: () => undefined,
          end: (_index, error) => void ends.push(`${error?.code} ${error?.message}`),
          recordMetrics: () => undefined,
        },
      );
    });
    expect(ends).toEqual([expected]);
  });

  it('is not suspected when it fails for another reason', async () => {
    const { instance } = host(kind, scaler.broken);
    expect(await outcomes(instance, [x(1)])).toEqual([
      "INTERNAL Cannot read properties of undefined (reading 'factor')",
    ]);
  });

  it('works when it does without its object', async () => {
    const { instance } = host(kind, scaler.guarded);
    expect(await outcomes(instance, [x(2)])).toEqual(['y FP32 [1,1] 2']);
  });
});

describe.each<InstanceKind>(['inline', 'port'])('a method with its object (%s)', (kind) => {
  it.each<[string, unknown]>([
    ['an object with infer', scaler],
    ['a method by its name', { object: scaler, method: 'later' }],
    ['a decorated method by its name', { object: decorated, method: 'decorated' }],
    ['a bound method', scaler.infer.bind(scaler)],
    ['a closure', (requests: Requests) => scaler.infer(requests)],
    ['a closure under batch', batch(((inputs: Inputs) => scaler.scale(inputs)) as never)],
  ])('computes as %s', async (_, callable) => {
    const { instance } = host(kind, callable);
    expect(await outcomes(instance, [x(1), x(2)])).toEqual(['y FP32 [1,1] 3', 'y FP32 [1,1] 6']);
  });

  it('is not said to have lost it when it fails', async () => {
    const broken = new Scaler();
    broken.infer = undefined as never;
    const { instance } = host(kind, { object: broken, method: 'later' });
    expect(await outcomes(instance, [x(1)])).toEqual(['INTERNAL this.infer is not a function']);
  });
});
