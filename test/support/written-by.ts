// A socket that takes all that it is given at once.
import type { Output, OutputSocket } from '../../src/sockets/output.js';
import { KEEPS_NOTHING } from '../../src/sockets/socket-reader.js';

/** The chunks that the output has to send. Their memory is used again by what it sends next. */
export function writtenBy(output: Output): Uint8Array[] {
  const written: Uint8Array[] = [];
  if (output.bytes === 0) return written;
  const socket = {
    connecting: false,
    writableLength: 0,
    writableHighWaterMark: KEEPS_NOTHING,
    cork: () => undefined,
    uncork: () => undefined,
    write: (chunk: Uint8Array, done?: (error?: Error) => void) => {
      written.push(chunk);
      done?.();
      return true;
    },
  };
  output.writeTo(socket as OutputSocket);
  return written;
}
