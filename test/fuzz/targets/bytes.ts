// The elements of BYTES, walked and read some at a time, against a reader that takes them one after the other.
import { BytesScan, ElementReader } from '../../../src/tensor/raw.js';
import { type FuzzTarget, must, randomOf } from '../fuzz-target.js';

export const bytes: FuzzTarget = {
  about: 'elements of BYTES tensors',
  make: (random) =>
    Buffer.concat(
      Array.from({ length: random.of([0, 1, 2, 5, 40]) }, () => {
        const length = random.of([0, 0, 1, 3, 200]);
        const element = Buffer.alloc(4 + length, random.integer(0, 255));
        element.writeUInt32LE(length);
        return element;
      }),
    ),
  check(input) {
    const random = randomOf(input);
    const expected = elementsOf(input);
    const scan = new BytesScan(input);
    while (!scan.advance(random.of([1, 2, 7, 1000])));
    if (!Array.isArray(expected)) {
      must(scan.fault?.kind === expected.fault, () => `found ${scan.fault?.kind}, expected ${expected.fault}`);
      must(scan.count === expected.count, () => `${scan.count} whole elements, expected ${expected.count}`);
      return false;
    }
    must(
      scan.fault === undefined && scan.count === expected.length,
      () => `${scan.count} of ${expected.length} elements`,
    );
    const reader = new ElementReader('bytes', input);
    while (!reader.advance(random.of([1, 2, 7, 1000])));
    const read = reader.elements.map((element) => Buffer.from(element).toString('hex')).join();
    must(read === expected.join(), () => `read ${read}, expected ${expected.join()}`);
    return true;
  },
};

function elementsOf(input: Buffer): string[] | { readonly fault: string; readonly count: number } {
  const elements: string[] = [];
  for (let rest = input; rest.length > 0;) {
    if (rest.length < 4) return { fault: 'incomplete length', count: elements.length };
    const length = rest.readUInt32LE(0);
    if (rest.length < 4 + length) return { fault: 'incomplete element', count: elements.length };
    elements.push(rest.subarray(4, 4 + length).toString('hex'));
    rest = rest.subarray(4 + length);
  }
  return elements;
}
