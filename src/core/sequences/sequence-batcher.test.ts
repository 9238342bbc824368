/* oxlint-disable vitest/no-conditional-expect, vitest/no-standalone-expect -- a property checks every step of a random life */
// What the recordings of Triton do not tell: the limit, losses, idle time, and what holds whatever comes.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { TritonError } from '../../errors.js';
import { PLAIN_BATCHER } from '../../model/complete-batcher.js';
import { DirectSequences } from './direct-sequences.js';
import type { InstanceSequences } from './instance-sequences.js';
import type { LiveSequence, SequencedRequest, SequenceEnd } from './live-sequence.js';
import { OldestSequences } from './oldest-sequences.js';
import { SequenceBatcher } from './sequence-batcher.js';

interface TestRequest extends SequencedRequest {
  decided: boolean;
  readonly number: number;
  /** How many executions it still has. */
  steps: number;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let numbers = 0;

function request(id: number | string, flags = '', startedAt = 0): TestRequest {
  return {
    number: ++numbers,
    steps: 1,
    id: String(id),
    rows: 1,
    priority: 0,
    timeoutMicroseconds: 0,
    entry: undefined,
    inputs: [],
    startedAt,
    waitsSince: startedAt,
    decided: false,
    live: undefined,
    sequence: { id, start: flags.includes('S'), end: flags.includes('E') },
  };
}

const direct = (slots: number, iterative = false) =>
  new DirectSequences({ slots, delay: 0, utilization: 0, iterative, compatible: () => true });

const oldest = (slots: number, iterative = false) =>
  new OldestSequences({
    slots,
    iterative,
    maxBatchSize: 4,
    batcher: { ...PLAIN_BATCHER, preferredBatchSize: [4] },
    compatible: () => true,
  });

function start(instances: readonly InstanceSequences[], maxLiveSequences = 100, iterative = false) {
  const failed: string[] = [];
  const over: string[] = [];
  const batcher = new SequenceBatcher({
    modelName: 'm',
    idle: 1000,
    maxLiveSequences,
    iterative,
    onFailed: ({ id }, { error }) => void failed.push(`${id} ${error.message}`),
    onOver: ({ id }: LiveSequence, how: SequenceEnd) => void over.push(`${String(id)} ${how}`),
  });
  for (const instance of instances) batcher.add(instance, 0);
  const run = (instance: InstanceSequences, now: number) => {
    const decision = batcher.next(instance, now);
    return decision.kind === 'run' ? decision.batch : [];
  };
  return { batcher, failed, over, run };
}

describe('SequenceBatcher', () => {
  it.each([
    ['direct', direct(4)],
    ['oldest', oldest(4)],
  ])('keeps nothing of a sequence whose requests end each other, by the strategy %s', (_, instance) => {
    let all: TestRequest[] = [request(1, 'S'), request(1), request(1)];
    const batcher = new SequenceBatcher({
      modelName: 'm',
      idle: 1000,
      maxLiveSequences: 10,
      iterative: false,
      onFailed: (failed) => {
        // The error of one ends the stream of the others.
        for (const other of all) {
          if (other.decided) continue;
          other.decided = true;
          if (other !== failed) batcher.cancel(other);
        }
      },
      onOver: () => undefined,
    });
    batcher.add(instance, 0);
    for (const each of all) batcher.accept(each, 0);
    const sequence = new WeakRef(all[0]!.live!);
    batcher.failAll(new TritonError('UNAVAILABLE', 'the instance is stalled'), 1);
    all = [];
    return vi.waitFor(() => {
      collectGarbage();
      expect(sequence.deref() === undefined).toBe(true);
      expect([batcher.live, instance.sequences.size]).toEqual([0, 0]);
    });
  });

  it('refuses one sequence more than may live, and takes it when one has ended', () => {
    const instance = direct(4);
    const { batcher, run } = start([instance], 2);
    batcher.accept(request(1, 'S'), 0);
    batcher.accept(request(2, 'SE'), 0);
    expect(() => batcher.accept(request(3, 'S'), 0)).toThrow(
      "model 'm' takes no new sequence: its maxLiveSequences of 2 are under way",
    );
    for (const each of run(instance, 0)) batcher.executed(each, 5);
    batcher.accept(request(3, 'S'), 6);
    expect(batcher.live).toBe(2);
  });

  it('counts idle time from the last answer, and never while a request waits or runs', () => {
    const instance = direct(1);
    const { batcher, run, over } = start([instance]);
    batcher.accept(request(1, 'S'), 0);
    batcher.expireIdle(5000);
    const [first] = run(instance, 5000);
    batcher.expireIdle(9000);
    batcher.executed(first!, 9000);
    expect(batcher.idleUntil).toBe(10_000);
    batcher.expireIdle(9999);
    expect(over).toEqual([]);
    batcher.expireIdle(10_000);
    expect(over).toEqual(['1 expired']);
    expect(batcher.live).toBe(0);
  });

  it('counts the slots of requests that another shape holds back as empty ones, at the end of a batch too', () => {
    const shapes = [1, 2, 1, 3];
    const shapeOf = ({ id }: SequencedRequest) => shapes[Number(id) - 1];
    const compatible = (first: SequencedRequest, next: SequencedRequest) => shapeOf(first) === shapeOf(next);
    const instance = new DirectSequences({ slots: 4, delay: 0, utilization: 0, compatible });
    const { batcher } = start([instance]);
    for (const id of [1, 2, 3, 4]) batcher.accept(request(id, 'S'), 0);
    const released = Array.from({ length: 3 }, () => {
      const decision = batcher.next(instance, 1);
      return decision.kind === 'run' ? [decision.batch.map(({ id }) => id).join(), decision.rows] : [];
    });
    // As recorded of Triton: a | - | c | -, then - | b | - | -, then - | - | - | d.
    expect(released).toEqual([
      ['1,3', 4],
      ['2', 4],
      ['4', 4],
    ]);
  });

  it.each([
    [5, 0.6],
    [10, 0.3],
    [3, 1 / 3],
    [10, Math.fround(0.7)],
  ])('sends a batch when of %i slots the part %f is waiting', (slots, utilization) => {
    const instance = new DirectSequences({ slots, delay: 1000, utilization, compatible: () => true });
    const { batcher, run } = start([instance]);
    const enough = Math.round(slots * utilization);
    for (let id = 1; id < enough; id++) batcher.accept(request(id, 'S'), 0);
    expect(run(instance, 1)).toEqual([]);
    batcher.accept(request(enough, 'S'), 1);
    expect(run(instance, 1)).toHaveLength(enough);
  });

  it('tells once that a sequence was lost with its instance', () => {
    const instance = direct(1);
    const { batcher, run, failed, over } = start([instance]);
    batcher.accept(request(1, 'S'), 0);
    const [running] = run(instance, 0);
    batcher.accept(request(1), 1);
    batcher.remove(instance, 2);
    batcher.executed(running!, 3);
    const lost =
      "sequence 1 of model 'm' was lost when the instance that kept it ended: it must begin again with the START flag";
    expect(failed).toEqual([`1 ${lost}`]);
    expect(over).toEqual(['1 lost']);
    expect(() => batcher.accept(request(1), 4)).toThrow(lost);
    expect(() => batcher.accept(request(1), 5)).toThrow('must specify the START flag');
    batcher.accept(request(1, 'S'), 6);
    expect([batcher.live, batcher.backlog]).toEqual([1, 1]);
  });

  it('forgets lost sequences after the idle time, though nobody asks, and when it closes', () => {
    const instance = direct(2);
    const { batcher, run } = start([instance]);
    batcher.accept(request(1, 'S'), 0);
    for (const each of run(instance, 0)) batcher.executed(each, 1);
    batcher.remove(instance, 7);
    expect(batcher.nextExpiry()).toBe(1007);
    batcher.expire(1007);
    expect(batcher.nextExpiry()).toBe(Infinity);
    expect(() => batcher.accept(request(1), 1008)).toThrow('must specify the START flag');
    const other = direct(2);
    batcher.add(other, 2000);
    batcher.accept(request(2, 'S'), 2000);
    for (const each of run(other, 2000)) batcher.executed(each, 2001);
    batcher.remove(other, 2002);
    batcher.close();
    expect(batcher.nextExpiry()).toBe(Infinity);
  });

  it('tells the clients of lost sequences so, also when no instance came back in time, until it is closed', () => {
    const instance = direct(4);
    const { batcher, run } = start([instance]);
    for (const id of [1, 2]) batcher.accept(request(id, 'S'), 0);
    for (const each of run(instance, 0)) batcher.executed(each, 1);
    batcher.remove(instance, 2);
    batcher.failAll(new TritonError('UNAVAILABLE', 'all instances ended while the request waited'), 2);
    expect(() => batcher.accept(request(1), 3)).toThrow("sequence 1 of model 'm' was lost");
    batcher.close();
    expect(batcher.nextExpiry()).toBe(Infinity);
    expect(() => batcher.accept(request(2), 4)).toThrow('must specify the START flag');
  });

  it('tells the clients of sequences that a stalled instance kept so, once, unless it is closed', () => {
    const instance = direct(4);
    const { batcher, run, failed } = start([instance]);
    for (const id of [1, 2, 3]) batcher.accept(request(id, 'S'), 0);
    for (const each of run(instance, 0)) batcher.executed(each, 1);
    batcher.accept(request(2), 2);
    batcher.accept(request(3, 'E'), 2);
    batcher.failAll(new TritonError('UNAVAILABLE', 'stalled'), 3);
    expect(failed).toEqual(['2 stalled', '3 stalled']);
    const lost =
      "sequence 1 of model 'm' was lost when the instance that kept it stalled: it must begin again with the START flag";
    expect(() => batcher.accept(request(1), 4)).toThrow(lost);
    expect(() => batcher.accept(request(1), 5)).toThrow('must specify the START flag');
    expect(() => batcher.accept(request(3), 5)).toThrow('must specify the START flag');
    expect(batcher.nextExpiry()).toBe(1003);
    batcher.close();
    expect(() => batcher.accept(request(2), 6)).toThrow('must specify the START flag');
  });

  it('gives a new sequence no slot of a blocked instance', () => {
    const [blocked, free] = [direct(2), direct(2)];
    const { batcher, run } = start([blocked, free]);
    blocked.isBlocked = true;
    batcher.accept(request(1, 'S'), 0);
    batcher.accept(request(2, 'S'), 0);
    expect(run(free, 0).map(({ id }) => id)).toEqual(['1', '2']);
  });

  it('ends a sequence whose id another model has given anew, after the requests that wait', () => {
    const instance = direct(2);
    const { batcher, run, over, failed } = start([instance]);
    batcher.accept(request(1, 'S'), 0);
    batcher.accept(request(2, 'S'), 0);
    for (const each of run(instance, 0)) batcher.executed(each, 1);
    batcher.accept(request(2), 2);
    batcher.supersede(1);
    batcher.supersede(2);
    batcher.supersede(3);
    expect(over).toEqual(['1 restarted']);
    expect(batcher.continues(request(2))).toBe(false);
    for (const each of run(instance, 3)) batcher.executed(each, 4);
    expect([over, failed]).toEqual([['1 restarted', '2 restarted'], []]);
  });

  it('ends idle sequences when no request can come any more, and the others after their last one', () => {
    const instance = direct(2);
    const { batcher, run, over } = start([instance]);
    batcher.accept(request(1, 'S'), 0);
    for (const each of run(instance, 0)) batcher.executed(each, 1);
    batcher.accept(request(2, 'S'), 2);
    batcher.close();
    expect(over).toEqual(['1 unloaded']);
    for (const each of run(instance, 3)) batcher.executed(each, 4);
    expect(over).toEqual(['1 unloaded', '2 unloaded']);
  });

  describe.each([
    ['direct', direct],
    ['oldest', oldest],
  ] as const)('with another START behind a request whose client is gone: %s', (_, make) => {
    const leave = (batcher: SequenceBatcher, ...gone: readonly TestRequest[]) => {
      for (const each of gone) each.decided = true;
      for (const each of gone) batcher.cancel(each);
    };

    it('fails the requests up to that START, and runs it and those behind it', () => {
      const instance = make(2);
      const { batcher, run, over, failed } = start([instance]);
      const all = [request(1, 'S'), request(1), request(1), request(1, 'S'), request(1, 'E')];
      const [first, left, behind, again, end] = all as [
        TestRequest,
        TestRequest,
        TestRequest,
        TestRequest,
        TestRequest,
      ];
      for (const each of all) batcher.accept(each, 0);
      expect(run(instance, 0)).toEqual([first]);
      leave(batcher, left);
      batcher.executed(first, 1);
      expect(run(instance, 1)).toEqual([again]);
      expect(failed).toHaveLength(2);
      expect(over).toEqual([]);
      batcher.executed(again, 2);
      expect(run(instance, 2)).toEqual([end]);
      batcher.executed(end, 3);
      expect(over).toEqual(['1 ended']);
      expect([left, behind].map(({ live }) => live)).toEqual([again.live, again.live]);
    });

    it('passes over a START whose client is gone too, and fails what is behind it', () => {
      const instance = make(2);
      const { batcher, run, over, failed } = start([instance]);
      const all = [request(1, 'S'), request(1), request(1, 'S'), request(1), request(1, 'S'), request(1)];
      for (const each of all) batcher.accept(each, 0);
      run(instance, 0);
      leave(batcher, all[1]!, all[2]!, all[5]!);
      batcher.executed(all[0]!, 1);
      expect(run(instance, 1)).toEqual([all[4]]);
      expect(failed).toHaveLength(3);
      batcher.executed(all[4]!, 2);
      expect(run(instance, 2)).toEqual([]);
      expect([failed.length, over]).toEqual([4, ['1 cancelled']]);
    });

    it('keeps its place in the backlog, and those behind it', () => {
      const instance = make(1);
      const { batcher, run, over, failed } = start([instance]);
      const other = request(1, 'S');
      const all = [request(2, 'S'), request(2), request(2, 'S'), request(3, 'S')];
      for (const each of [other, ...all]) batcher.accept(each, 0);
      run(instance, 0);
      leave(batcher, all[1]!);
      const end = request(1, 'E');
      batcher.accept(end, 1);
      batcher.executed(other, 1);
      expect(run(instance, 1)).toEqual([end]);
      batcher.executed(end, 2);
      expect(over).toEqual(['1 ended']);
      expect(run(instance, 2)).toEqual([all[2]]);
      expect([failed.length, batcher.backlog]).toEqual([2, 1]);
    });

    it('begins afresh where the client left between two executions of a request', () => {
      const instance = make(2, true);
      const { batcher, run, over, failed } = start([instance], 100, true);
      const [stepping, again] = [request(1, 'S'), request(1, 'S')];
      batcher.accept(stepping, 0);
      batcher.accept(again, 0);
      expect(run(instance, 0)).toEqual([stepping]);
      leave(batcher, stepping);
      batcher.resume(stepping, 1);
      expect(run(instance, 1)).toEqual([again]);
      expect([failed.length, over]).toEqual([1, []]);
    });
  });

  describe.each([
    ['direct', direct],
    ['oldest', oldest],
  ] as const)('with requests in steps: %s', (_, make) => {
    const anonymous = (steps: number): TestRequest => ({ ...request('', ''), sequence: undefined, steps });

    it('executes a request again with those that have come meanwhile, and gives its slot away when it ends', () => {
      const instance = make(2, true);
      const { batcher, run, over } = start([instance], 100, true);
      const [a, b, c] = [anonymous(3), anonymous(1), anonymous(1)];
      batcher.accept(a, 0);
      expect(run(instance, 0)).toEqual([a]);
      for (const each of [b, c]) batcher.accept(each, 1);
      expect(batcher.backlog).toBe(1);
      batcher.resume(a, 5);
      expect(new Set(run(instance, 5))).toEqual(new Set([a, b]));
      batcher.resume(a, 9);
      batcher.executed(b, 9);
      expect(new Set(run(instance, 9))).toEqual(new Set([a, c]));
      for (const each of [a, c]) batcher.executed(each, 12);
      expect(over).toEqual(['2 ended', '1 ended', '3 ended']);
    });

    it('keeps the slot of a last request until its last step, before all others of its sequence', () => {
      const instance = make(1, true);
      const { batcher, run } = start([instance], 100, true);
      const [first, last, other] = [request(1, 'S'), request(1, 'E'), request(2, 'S')];
      for (const each of [first, last, other]) batcher.accept(each, 0);
      expect(run(instance, 0)).toEqual([first]);
      batcher.resume(first, 1);
      expect(run(instance, 1)).toEqual([first]);
      batcher.executed(first, 2);
      expect(run(instance, 2)).toEqual([last]);
      batcher.resume(last, 3);
      expect(run(instance, 3)).toEqual([last]);
      batcher.executed(last, 4);
      expect(run(instance, 4)).toEqual([other]);
    });

    it('ends the sequence of a request whose client goes while it runs, or between two steps', () => {
      const instance = make(4, true);
      const { batcher, run, over, failed } = start([instance], 100, true);
      const [a, b, c] = [anonymous(2), anonymous(2), anonymous(2)];
      for (const each of [a, b, c]) batcher.accept(each, 0);
      run(instance, 0);
      a.decided = true;
      batcher.cancel(a);
      batcher.resume(a, 1);
      batcher.resume(b, 1);
      batcher.resume(c, 1);
      b.decided = true;
      batcher.cancel(b);
      expect(run(instance, 2)).toEqual([c]);
      expect(over).toEqual(['1 cancelled', '2 cancelled']);
      const gone = (id: number) => ` sequence ${id} of model 'm' is over: the client of one of its requests is gone`;
      expect(failed).toEqual([gone(1), gone(2)]);
    });

    it('holds a request up without holding the others, and fails it with them', () => {
      const instance = make(4, true);
      const { batcher, run, failed } = start([instance], 100, true);
      const [held, lost, free] = [anonymous(9), anonymous(9), anonymous(9)];
      for (const each of [held, lost, free]) batcher.accept(each, 0);
      run(instance, 0);
      batcher.resume(held, 1, true);
      batcher.resume(lost, 1, true);
      batcher.resume(free, 1);
      expect(run(instance, 1)).toEqual([free]);
      batcher.resume(free, 2);
      batcher.letGo(held, 2);
      expect(new Set(run(instance, 2))).toEqual(new Set([held, free]));
      batcher.failAll(new TritonError('UNAVAILABLE', 'stopped'), 2);
      expect(failed).toEqual([' stopped']);
      batcher.letGo(lost, 3);
      batcher.resume(free, 3);
      expect(failed).toEqual([' stopped', " sequence 3 of model 'm' was ended between two executions"]);
      expect(batcher.live).toBe(0);
    });

    it('tells requests of their own that their instance ended, and not of a sequence', () => {
      const instance = make(1, true);
      const { batcher, run, failed } = start([instance], 100, true);
      const own = anonymous(2);
      batcher.accept(own, 0);
      run(instance, 0);
      batcher.resume(own, 1);
      batcher.remove(instance, 2);
      expect(failed).toEqual([" an instance of model 'm' ended while it was working on the request"]);
    });
  });

  it.each([
    ['direct', direct, false],
    ['oldest', oldest, false],
    ['direct, in steps', direct, true],
    ['oldest, in steps', oldest, true],
  ] as const)(
    'runs each request of a sequence once, in order, on one instance, whatever comes: %s',
    (_, make, iterative) => {
      const step = fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({
            kind: fc.constant('send'),
            id: fc.nat({ max: 5 }),
            start: fc.boolean(),
            end: fc.boolean(),
            steps: fc.integer({ min: 1, max: iterative ? 3 : 1 }),
          }),
        },
        { weight: 5, arbitrary: fc.record({ kind: fc.constant('run'), instance: fc.nat({ max: 1 }) }) },
        { weight: 4, arbitrary: fc.record({ kind: fc.constant('finish'), which: fc.nat(), holds: fc.boolean() }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant('letGo'), which: fc.nat() }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel'), which: fc.nat() }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass'), time: fc.nat({ max: 1500 }) }) },
      );
      fc.assert(
        fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
          const instances = [make(2, iterative), make(2, iterative)];
          const { batcher } = start(instances, 100, iterative);
          const sent = new Set<TestRequest>();
          const waiting = new Set<TestRequest>();
          const running: { readonly requests: TestRequest[]; readonly instance: InstanceSequences }[] = [];
          const held = new Set<TestRequest>();
          const homes = new Map<number, InstanceSequences>();
          const last = new Map<number, number>();
          let now = 0;
          const run = (instance: InstanceSequences) => {
            if (running.some((other) => other.instance === instance)) return;
            const decision = batcher.next(instance, now);
            if (decision.kind !== 'run') return;
            const requests = decision.batch as TestRequest[];
            expect(new Set(requests.map(({ live }) => live!.serial)).size).toBe(requests.length);
            for (const each of requests) {
              expect(waiting.delete(each)).toBe(true);
              expect(each.decided).toBe(false);
              const { serial } = each.live!;
              expect(held.has(each)).toBe(false);
              // A request is executed again before the next one of its sequence is.
              expect(each.number).toBeGreaterThanOrEqual(last.get(serial) ?? 0);
              last.set(serial, each.number);
              expect(homes.get(serial) ?? instance).toBe(instance);
              homes.set(serial, instance);
              expect(running.flatMap((other) => other.requests).some((other) => other.live === each.live)).toBe(false);
            }
            running.push({ requests, instance });
          };
          const finish = (which: number, holds: boolean) => {
            const [done] = running.splice(which % Math.max(1, running.length), 1);
            for (const each of done?.requests ?? []) {
              if (--each.steps === 0) {
                batcher.executed(each, now);
                continue;
              }
              waiting.add(each);
              if (holds) held.add(each);
              batcher.resume(each, now, holds);
            }
          };
          const pass = (milliseconds: number) => {
            now += milliseconds;
            batcher.expire(now);
            batcher.expireIdle(now);
          };
          const letGo = (each: TestRequest | undefined) => {
            if (each !== undefined && held.delete(each)) batcher.letGo(each, now);
          };
          for (const each of steps) {
            if ('id' in each) {
              const own = { ...request(each.id + 1, each.end ? 'E' : '', now), steps: each.steps };
              if (each.start || !batcher.continues(own)) own.sequence = { ...own.sequence!, start: true };
              batcher.accept(own, now);
              sent.add(own);
              waiting.add(own);
            } else if ('instance' in each) run(instances[each.instance]!);
            else if ('time' in each) pass(each.time);
            else if ('holds' in each) finish(each.which, each.holds);
            else if (each.kind === 'letGo') letGo([...held][each.which % Math.max(1, held.size)]);
            else {
              const gone = [...waiting][each.which % Math.max(1, waiting.size)];
              if (gone !== undefined) {
                gone.decided = true;
                batcher.cancel(gone);
              }
            }
          }
          // When all runs to its end, nothing waits, and what is idle expires.
          for (const each of held) letGo(each);
          for (let i = 0; i < 12 * sent.size + 4; i++) {
            for (const instance of instances) run(instance);
            while (running.length > 0) finish(0, false);
            pass(2000);
          }
          expect([batcher.live, batcher.backlog]).toEqual([0, 0]);
          for (const each of waiting) {
            expect(each.live!.isOver).toBe(true);
            // The client of a request is gone that begins no other sequence.
            const own = [...sent].filter(({ live }) => live === each.live);
            const isBegin = ({ sequence }: TestRequest) => sequence!.start;
            const begin = own.findLastIndex((other) => isBegin(other) && other.number <= each.number);
            const next = own.findIndex((other) => isBegin(other) && other.number > each.number);
            expect(own.slice(begin, next < 0 ? undefined : next).some(({ decided }) => decided)).toBe(true);
          }
          expect(instances.map(({ sequences }) => sequences.size)).toEqual([0, 0]);
        }),
      );
    },
  );
});
