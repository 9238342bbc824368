import { describe, expect, it } from 'vitest';

import { lossOf, lossText, type Loss } from './lost-object.js';

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
