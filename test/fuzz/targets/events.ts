// Server-sent events in any pieces, against a reader that has the whole text and cuts it into lines.
import { EventReader } from '../../../src/protocol/http/event-reader.js';
import { type FuzzTarget, must, randomOf } from '../fuzz-target.js';

const LINES = [
  'data: {"a":1}',
  'data:x',
  'data',
  'data: ',
  'data:  two',
  'datax: no',
  ': comment',
  'event: e',
  'id: 1',
  '',
  '',
  '',
  'é',
  ' data: y',
];
const ENDS = ['\n', '\n', '\r\n', '\r'];

export const events: FuzzTarget = {
  about: 'server-sent events that clients read',
  make: (random) =>
    Buffer.from(Array.from({ length: random.integer(0, 12) }, () => random.of(LINES) + random.of(ENDS)).join('')),
  check(input) {
    const random = randomOf(input);
    const reader = new EventReader();
    const read: string[] = [];
    let pushes = 0;
    for (let at = 0; at < input.length;) {
      const end = at + random.of([1, 2, 3, 10, 1000]);
      read.push(...reader.push(input.subarray(at, end)).map((event) => event.toString('latin1')));
      at = end;
      pushes++;
    }
    const expected = eventsOf(input.toString('latin1'));
    must(
      JSON.stringify(read) === JSON.stringify(expected),
      () => `read ${JSON.stringify(read)}, expected ${JSON.stringify(expected)}`,
    );
    // A piece counts its bytes and what it takes beside them: at most one a push, and one for each line of data.
    const pieces = pushes + input.toString('latin1').split(/[\r\n]data/).length;
    const most = input.length + 128 * pieces;
    must(reader.heldBytes <= most, () => `holds ${reader.heldBytes} bytes, expected at most ${most}`);
    must(reader.isInside || reader.heldBytes === 0, () => `holds ${reader.heldBytes} bytes of no event`);
    return read.length > 0;
  },
};

function eventsOf(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/);
  // What has no end is no line.
  lines.pop();
  const found: string[] = [];
  let data: string[] = [];
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) found.push(data.join('\n'));
      data = [];
      continue;
    }
    const value = /^data(?:$|:)(.*)$/s.exec(line)?.[1];
    if (value !== undefined) data.push(value.replace(/^ /, ''));
  }
  return found;
}
