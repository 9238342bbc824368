// How the work of something grows with its size, counted and not timed, so that it is the same on every machine: the steps
// for eight times as much, as a multiple of those for once as much. It is about 8 where the work is linear and 64 where it
// is quadratic. A step is a look at a property of a watched object, or an element that a method of arrays passes over.

const TIMES = 8;
/** Between linear and quadratic; a heap's work is a little more than linear. */
export const HARDLY_MORE_THAN_LINEAR = 16;

/** Methods that go through an array without calling back. */
const SCANS = ['concat', 'includes', 'indexOf', 'join', 'lastIndexOf', 'shift', 'slice', 'splice', 'unshift'] as const;

export class Steps {
  count = 0;

  /** Counts reading and writing of the properties that an object has; gives it back. */
  watch<T extends object>(object: T): T {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      let current: unknown = value;
      Object.defineProperty(object, name, {
        get: () => {
          this.count++;
          return current;
        },
        set: (next: unknown) => {
          this.count++;
          current = next;
        },
      });
    }
    return object;
  }
}

/** `prepare` makes what is measured, of a size, and watches what it is about; making it does not count. */
export function growth(size: number, prepare: (size: number, steps: Steps) => () => void): number {
  const [once, more] = [size, TIMES * size].map((one) => {
    const steps = new Steps();
    const run = prepare(one, steps);
    steps.count = 0;
    countingScans(steps, run);
    return steps.count;
  });
  return more! / once!;
}

function countingScans(steps: Steps, run: () => void): void {
  const originals = SCANS.map((name) => [name, Object.getOwnPropertyDescriptor(Array.prototype, name)!] as const);
  for (const [name, descriptor] of originals) {
    const method = descriptor.value as (...given: unknown[]) => unknown;
    Object.defineProperty(Array.prototype, name, {
      ...descriptor,
      value(this: readonly unknown[], ...given: unknown[]) {
        steps.count += this.length;
        return method.apply(this, given);
      },
    });
  }
  try {
    run();
  } finally {
    for (const [name, descriptor] of originals) Object.defineProperty(Array.prototype, name, descriptor);
  }
}
