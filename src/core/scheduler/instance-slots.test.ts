import { describe, expect, it } from 'vitest';

import type { ModelInstance } from '../instance/model-instance.js';
import { InstanceSlots } from './instance-slots.js';

/** Slots with instances of these names, each of which may work on `concurrency` batches. */
function slotsOf(names: string, concurrency = 1) {
  const instances = new Map(names.split('').map((name) => [name, { name } as unknown as ModelInstance]));
  const slots = new InstanceSlots(concurrency);
  for (const instance of instances.values()) slots.add(instance);
  const nameOf = (wanted: ModelInstance) => [...instances].find(([, instance]) => instance === wanted)![0];
  return { slots, instances, nameOf };
}

/** Gives out so many batches and tells which instances got them. */
function given({ slots, nameOf }: ReturnType<typeof slotsOf>, batches: number): string {
  let names = '';
  for (let i = 0; i < batches; i++) {
    const slot = slots.free();
    names += slot === undefined ? '-' : nameOf(slot.instance);
    if (slot !== undefined) slots.begin(slot);
  }
  return names;
}

describe('InstanceSlots', () => {
  it('gives batches in turn, until no instance has room', () => {
    expect(given(slotsOf('abc'), 4)).toBe('abc-');
    expect(given(slotsOf('ab', 2), 5)).toBe('abab-');
  });

  it('prefers the least busy instance to the one whose turn it is', () => {
    const some = slotsOf('abc', 3);
    const first = some.slots.free()!;
    expect(given(some, 5)).toBe('abcab');
    expect(some.nameOf(first.instance)).toBe('a');
    first.running = 0;
    // The turn is that of c, which works on one batch.
    expect(given(some, 3)).toBe('aca');
  });

  it('gives nothing to an instance that was taken out, and goes on with the others', () => {
    const some = slotsOf('abc', 2);
    some.slots.remove(some.instances.get('b')!);
    expect(some.slots.count).toBe(2);
    expect(given(some, 5)).toBe('acac-');
  });

  it('keeps all where one is taken out that it does not have', () => {
    const some = slotsOf('ab');
    some.slots.remove(slotsOf('c').instances.get('c')!);
    const [a] = [...some.instances.values()];
    some.slots.remove(a!);
    some.slots.remove(a!);
    expect(some.slots.count).toBe(1);
    expect(given(some, 2)).toBe('b-');
  });

  it('counts an instance as working until all of its batches are stuck', () => {
    const { slots } = slotsOf('ab', 2);
    const slot = slots.free()!;
    slot.stuck = 1;
    expect(slots.working).toBe(2);
    slot.stuck = 2;
    expect(slots.working).toBe(1);
  });
});
