import { afterEach, describe, expect, it } from 'vitest';

import { wireTensor } from '../../test/support/infer-requests.js';
import {
  type AnyCallable,
  describeResult,
  executionRequest,
  hostCallable,
  type HostedInstance,
  type InstanceKind,
  outcomes,
} from '../../test/support/instances.js';
import { batch } from '../callables/batch.js';
import { groupByKeys } from '../callables/group-by-keys.js';
import { stream } from '../callables/stream.js';
import type { Tensor } from '../tensor/tensor.js';
import { type Loss, lossOf, lossText } from './lost-object.js';

/** What `fn`, called with `this` undefined, throws, and what is made of it. */
async function lossIn(fn: unknown): Promise<Loss | undefined | 'no error'> {
  try {
    const result = (fn as (requests: unknown) => unknown)([{}, { config: undefined }]);
    await (result as PromiseLike<unknown>);
    if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result) {
      for await (const step of result as AsyncIterable<unknown>) void step;
    }
  } catch (error) {
    return lossOf(error, fn);
  }
  return 'no error';
}

function fails(value: { config: { model: unknown } } | undefined): unknown {
  return value!.config.model;
}

type Requests = readonly { readonly config?: { readonly model: unknown } }[];

class Classifier {
  readonly #secret = 1;
  model = { run: (values: unknown) => values };
  factor = 2;

  reads() {
    return this.model.run([]);
  }
  readsOnAnotherLine() {
    // prettier-ignore
    return this
      .model
      .run([]);
  }
  writes() {
    this.factor = 3;
  }
  readsByText() {
    return this['factor'];
  }
  readsPrivately() {
    return this.#secret;
  }
  callsPrivately() {
    return this.#hidden();
  }
  #hidden() {
    return this.factor;
  }
  takesApart() {
    const { factor } = this;
    return factor;
  }
  spreads() {
    return [...(this as unknown as Iterable<unknown>)];
  }
  readsWithin(requests: Requests) {
    return requests.map(() => this.factor);
  }
  readsWithinNamed(requests: Requests) {
    const scale = () => this.factor;
    return requests.map(scale);
  }
  async readsLater() {
    await Promise.resolve();
    return this.factor;
  }
  async *yields() {
    yield this.factor;
  }
  callsAnother() {
    return this.reads();
  }

  readsBoth(requests: Requests) {
    if (requests.length > 5) return this.model;
    return requests[0]!.config!.model;
  }
  failsElsewhere(requests: Requests) {
    const { config } = requests[1]!;
    if (requests.length > 5) return this.factor;
    return config!.model;
  }
  failsInHelper() {
    fails({ config: undefined as never });
    return this.model;
  }
  failsFirst() {
    fails(undefined);
    return this.model;
  }
  throwsAnother() {
    if ((this as unknown) === undefined) throw new RangeError("Cannot read properties of undefined (reading 'model')");
  }
  needsNone(requests: Requests) {
    return requests[0]!.config!.model;
  }
  /** Here this.model is only spoken of. */
  speaksOfIt(requests: Requests) {
    // this.model is not asked for
    return [requests[0]!.config!.model, 'this.model'];
  }
  asksPolitely() {
    return (this as Classifier | undefined)?.model.run([]);
  }
  readonly arrow = (requests: Requests) => [this.factor, requests[0]!.config!.model];
  readonly asyncArrow = async (requests: Requests) => [this.factor, requests[0]!.config!.model];
  readonly oneArrow = (value: Requests) => (this.factor > 0 ? value[0]!.config!.model : 0);
}

const classifier = new Classifier();

describe('lossOf', () => {
  it.each<keyof Classifier>([
    'reads',
    'readsOnAnotherLine',
    'writes',
    'takesApart',
    'spreads',
    'readsWithin',
    'readsLater',
    'yields',
    'callsAnother',
    'readsPrivately',
  ])('is certain of a method that %s', async (name) => {
    expect(await lossIn(classifier[name])).toBe('certain');
  });

  it.each<keyof Classifier>(['readsBoth', 'readsByText', 'callsPrivately', 'readsWithinNamed'])(
    'only suspects a method that %s',
    async (name) => {
      expect(await lossIn(classifier[name])).toBe('possible');
    },
  );

  it.each<keyof Classifier>([
    'failsElsewhere',
    'failsInHelper',
    'failsFirst',
    'throwsAnother',
    'needsNone',
    'speaksOfIt',
    'arrow',
    'asyncArrow',
    'oneArrow',
  ])('says nothing of a method that %s', async (name) => {
    expect(await lossIn(classifier[name])).toBeUndefined();
  });

  it('says nothing of a bound method, which has its object', async () => {
    expect(await lossIn(classifier.reads.bind(undefined as never))).toBeUndefined();
    expect(await lossIn(classifier.asksPolitely)).toBe('no error');
  });

  it('reads errors and functions of any kind', () => {
    const error = new TypeError("Cannot read properties of undefined (reading 'model')");
    for (const fn of [undefined, null, {}, 7, Math.max]) expect(lossOf(error, fn)).toBeUndefined();
    for (const thrown of [undefined, null, 'text', new Error('x'), new TypeError('x')]) {
      expect(lossOf(thrown, classifier.reads)).toBeUndefined();
    }
    const unreadable = Object.defineProperty(new TypeError('x'), 'message', {
      get: () => {
        throw error;
      },
    });
    expect(lossOf(unreadable, classifier.reads)).toBeUndefined();
  });

  it('does without a stack', () => {
    const error = new TypeError("Cannot read properties of undefined (reading 'model')");
    delete error.stack;
    expect(lossOf(error, classifier.reads)).toBe('certain');
  });
});

it('lossText names the method, and claims no more than is known', () => {
  expect(lossText('certain', 'classify')).toBe(
    "method 'classify' lost its object: it was called with 'this' undefined",
  );
  expect(lossText('possible', '')).toBe("the method may have lost its object: it was called with 'this' undefined");
});

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

type TypedRequests = readonly { readonly inputs: { readonly x: Tensor<'float32'> } }[];
type Inputs = TypedRequests[number]['inputs'];

class Scaler {
  factor = 3;

  infer(requests: TypedRequests) {
    return requests.map(({ inputs }) => ({ y: inputs.x.map((value) => value * this.factor) }));
  }
  async later(requests: TypedRequests) {
    await Promise.resolve();
    return this.infer(requests);
  }
  each(requests: TypedRequests) {
    return requests.map(async ({ inputs }) => ({ y: inputs.x.map((value) => value * this.factor) }));
  }
  *steps(requests: TypedRequests) {
    yield this.infer(requests);
  }
  scale({ x: values }: Inputs) {
    return { y: values.map((value) => value * this.factor) };
  }
  async *tokens({ x: values }: Inputs) {
    yield { y: values.map((value) => value * this.factor) };
  }
  seen(this: unknown, requests: TypedRequests) {
    seenObjects.push(this);
    return requests.map(({ inputs }) => ({ y: inputs.x }));
  }
  guarded(this: Scaler | undefined, requests: TypedRequests) {
    const factor = this?.factor ?? 1;
    return requests.map(({ inputs }) => ({ y: inputs.x.map((value) => value * factor) }));
  }
  broken(requests: TypedRequests) {
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
    ['a closure', (requests: TypedRequests) => scaler.infer(requests)],
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
