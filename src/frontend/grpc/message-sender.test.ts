import { describe, expect, it } from 'vitest';

import type { MessageCompression } from '../../protocol/grpc/message-compression.js';
import { largeMemory } from '../../sockets/large-memory.js';
import type { GrpcCall } from './grpc-call.js';
import { MessageSender } from './message-sender.js';

const SIZE = 2 << 20;

/** A call whose transport passes on what it gets. */
function fakeCall(): { readonly call: GrpcCall; readonly written: Promise<readonly Uint8Array[]> } {
  let onWritten!: (frames: readonly Uint8Array[]) => void;
  const written = new Promise<readonly Uint8Array[]>((resolve) => (onWritten = resolve));
  const write = (frames: readonly Uint8Array[]) => {
    largeMemory.sentAll(frames);
    onWritten(frames);
    return true;
  };
  return { call: { write } as unknown as GrpcCall, written };
}

/** A message of a tensor in memory of its own. */
function message(): { readonly frame: readonly Uint8Array[]; readonly memory: ArrayBuffer } {
  const tensor = new Uint8Array(SIZE).fill(7);
  return { frame: [Buffer.alloc(5), tensor], memory: tensor.buffer };
}

async function bytesKeptAfter(compression: MessageCompression | undefined, isItsOwn: boolean): Promise<number> {
  const { call, written } = fakeCall();
  const { frame, memory } = message();
  const before = largeMemory.keptBytes;
  void new MessageSender(call, compression).send(frame, isItsOwn ? memory : undefined);
  await written;
  return largeMemory.keptBytes - before;
}

describe('the memory of a message', () => {
  it('is used again when the message was sent', async () => {
    expect(await bytesKeptAfter(undefined, true)).toBe(SIZE);
  });

  it('stays as it is where others may have it', async () => {
    expect(await bytesKeptAfter(undefined, false)).toBe(0);
  });

  it('stays as it is where something else is sent', async () => {
    expect(await bytesKeptAfter({ encoding: 'gzip', level: 'low' }, true)).toBe(0);
  });
});
