// gRPC's frames in any pieces, some of them received where they belong, against a reader that has all bytes.
import { MessageFrameReader } from '../../../src/protocol/grpc/message-frame.js';
import { type FuzzTarget, must, randomOf } from '../fuzz-target.js';

const LIMIT = 100_000;

export const messageFrames: FuzzTarget = {
  about: 'frames of gRPC messages',
  make: (random) =>
    Buffer.concat(
      Array.from({ length: random.integer(0, 4) }, () => {
        const length = random.of([0, 1, 4, 30, 3000, 17_000, 40_000]);
        const frame = Buffer.alloc(5 + length, random.integer(0, 255));
        frame[0] = random.chance(0.95) ? 0 : random.integer(0, 2);
        frame.writeUInt32BE(length, 1);
        return frame;
      }),
    ),
  check(input) {
    const random = randomOf(input);
    const reader = new MessageFrameReader(LIMIT, undefined);
    const read: Buffer[] = [];
    const take = () => {
      for (let next = reader.next(); next !== undefined; next = reader.next()) read.push(Buffer.from(next.bytes));
    };
    for (let at = 0; at < input.length && reader.failure === undefined;) {
      const target = random.chance(0.5) ? reader.target() : undefined;
      // Only whole targets are filled.
      if (target !== undefined && target.length <= input.length - at) {
        input.copy(target, 0, at, at + target.length);
        reader.filled();
        at += target.length;
      } else if (target !== undefined) break;
      else {
        const end = Math.min(input.length, at + random.of([1, 3, 5, 100, 20_000]));
        reader.add(input.subarray(at, end));
        at = end;
      }
      take();
    }
    const { messages, isRefused } = messagesOf(input);
    must(
      Buffer.concat(read).equals(Buffer.concat(messages)) && read.length === messages.length,
      () => `${read.length} messages, expected ${messages.length}`,
    );
    must(
      (reader.failure !== undefined) === isRefused,
      () => `${reader.failure?.message ?? 'no failure'}, expected ${isRefused ? 'one' : 'none'}`,
    );
    return !isRefused;
  },
};

function messagesOf(input: Buffer): { readonly messages: readonly Buffer[]; readonly isRefused: boolean } {
  const messages: Buffer[] = [];
  let rest = input;
  while (rest.length >= 5) {
    const length = rest.readUInt32BE(1);
    if (rest[0] !== 0 || length > LIMIT) return { messages, isRefused: true };
    if (rest.length < 5 + length) break;
    messages.push(rest.subarray(5, 5 + length));
    rest = rest.subarray(5 + length);
  }
  return { messages, isRefused: false };
}
