import { describe, expect, it } from 'vitest';

import { asSteps, isSteps, mapSteps, RequestGroups, RequestStreams, type Steps, zipSteps } from './steps.js';

function* upTo(count: number): Generator<number> {
  for (let i = 1; i <= count; i++) yield i;
}

async function* slowlyUpTo(count: number): AsyncGenerator<number> {
  for (let i = 1; i <= count; i++) yield await Promise.resolve(i);
}

async function collect<T>(steps: Steps<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const step of steps) all.push(step);
  return all;
}

describe('isSteps', () => {
  it.each([[upTo(1)], [slowlyUpTo(1)], [new Set([1])], [[1].values()]])('is true for %o', (value) => {
    expect(isSteps(value)).toBe(true);
  });

  it.each([[[1]], ['text'], [Float32Array.of(1)], [{}], [null], [undefined], [7], [Promise.resolve(upTo(1))], [upTo]])(
    'is false for %o',
    (value) => {
      expect(isSteps(value)).toBe(false);
    },
  );
});

describe('mapSteps', () => {
  it('stays synchronous over a synchronous generator', () => {
    const mapped = mapSteps(upTo(3), (step) => 10 * step);
    expect(Symbol.iterator in mapped).toBe(true);
    expect([...(mapped as Iterable<number>)]).toEqual([10, 20, 30]);
  });

  it('maps an asynchronous generator', async () => {
    const mapped = mapSteps(slowlyUpTo(3), (step) => 10 * step);
    expect(Symbol.iterator in mapped).toBe(false);
    expect(await collect(mapped)).toEqual([10, 20, 30]);
  });

  it('takes no step before it is asked for one', () => {
    let taken = 0;
    const counting = (function* () {
      for (;;) yield ++taken;
    })();
    const mapped = mapSteps(counting, (step) => step) as Generator<number>;
    expect(taken).toBe(0);
    mapped.next();
    expect(taken).toBe(1);
  });

  it('closes the generator when it is closed, or when the mapping fails', async () => {
    let closed = 0;
    const closing = function* () {
      try {
        yield* upTo(3);
      } finally {
        closed++;
      }
    };
    const fail = () => {
      throw new Error('no');
    };
    for (const _ of mapSteps(closing(), (step) => step) as Iterable<number>) break;
    expect(closed).toBe(1);
    expect(() => [...(mapSteps(closing(), fail) as Iterable<never>)]).toThrow('no');
    expect(closed).toBe(2);
    const slowly = async function* () {
      yield* closing();
    };
    await expect(collect(mapSteps(slowly(), fail))).rejects.toThrow('no');
    expect(closed).toBe(3);
  });
});

describe('asSteps', () => {
  it('gives a generator back', () => {
    const steps = upTo(1);
    expect(asSteps(steps)).toBe(steps);
  });

  it.each([[[]], [[1, 2]], [{}], [undefined], [null], [7], [Float32Array.of(1)]])(
    'takes %o for the only step',
    (value) => {
      expect([...(asSteps(value) as Iterable<unknown>)]).toEqual([value]);
    },
  );
});

describe('zipSteps', () => {
  const uneven = () => new Error('uneven');
  /** Says when it is closed. */
  const tracked = (steps: Iterable<number>, closed: string[], name: string) =>
    (function* () {
      try {
        yield* steps;
      } finally {
        closed.push(name);
      }
    })();

  it('makes one series of several', async () => {
    const zipped = zipSteps([upTo(2), upTo(2)], uneven);
    expect([...(zipped as Iterable<readonly number[]>)]).toEqual([[1, 1], [2, 2]]); // prettier-ignore
    expect(await collect(zipSteps([upTo(2), slowlyUpTo(2)], uneven))).toEqual([[1, 1], [2, 2]]); // prettier-ignore
  });

  it.each<[string, () => Steps<number>, () => Steps<number>]>([
    ['the first', () => upTo(1), () => upTo(2)],
    ['the last', () => upTo(2), () => upTo(1)],
    ['one that never had any', () => upTo(0), () => upTo(1)],
    ['an asynchronous one', () => slowlyUpTo(1), () => upTo(2)],
  ])('fails when %s ends before the others', async (_, first, second) => {
    await expect(collect(zipSteps([first(), second()], uneven))).rejects.toThrow('uneven');
  });

  it('closes all series when it is closed', async () => {
    const closed: string[] = [];
    const both = () => [tracked(upTo(3), closed, 'a'), tracked(upTo(3), closed, 'b')];
    for (const _ of zipSteps(both(), uneven) as Iterable<unknown>) break;
    expect(closed).toEqual(['a', 'b']);
    for await (const _ of zipSteps([...both(), slowlyUpTo(3)], uneven)) break;
    expect(closed).toEqual(['a', 'b', 'a', 'b']);
  });

  it('closes the others when one fails, and fails with its error', async () => {
    const failing = function* () {
      yield 1;
      throw new Error('out of steps');
    };
    const closed: string[] = [];
    const sync = zipSteps([tracked(upTo(3), closed, 'a'), failing(), tracked(upTo(3), closed, 'c')], uneven);
    expect(() => [...(sync as Iterable<unknown>)]).toThrow('out of steps');
    expect(closed.sort()).toEqual(['a', 'c']);
    await expect(collect(zipSteps([tracked(upTo(3), closed, 'd'), failing(), slowlyUpTo(3)], uneven))).rejects.toThrow('out of steps'); // prettier-ignore
    expect(closed.sort()).toEqual(['a', 'c', 'd']);
  });
});

describe('RequestStreams', () => {
  it('keeps one stream per request', () => {
    const streams = [() => 1, () => 2];
    expect(new RequestStreams(streams).streams).toBe(streams);
  });

  it('is known, that of another copy of the package too', () => {
    const foreign = Object.defineProperty({}, Symbol.for('tstriton.RequestStreams'), { value: true });
    expect([new RequestStreams([]), foreign].map(RequestStreams.is)).toEqual([true, true]);
    expect([{ streams: [] }, [], null, undefined, 'x', new RequestGroups([])].some(RequestStreams.is)).toBe(false);
  });
});

describe('RequestGroups', () => {
  it('keeps the groups', () => {
    const groups = [{ members: [1], start: () => 1 }];
    expect(new RequestGroups(groups).groups).toBe(groups);
  });

  it('is known, that of another copy of the package too', () => {
    const foreign = Object.defineProperty({}, Symbol.for('tstriton.RequestGroups'), { value: true });
    expect([new RequestGroups([]), foreign].map(RequestGroups.is)).toEqual([true, true]);
    expect([{ groups: [] }, [], null, undefined, 'x', new RequestStreams([])].some(RequestGroups.is)).toBe(false);
  });
});
