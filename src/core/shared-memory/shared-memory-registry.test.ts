import { readdirSync, symlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { floats, SharedMemoryObject } from '../../../test/support/shared-memory.js';
import { finishPaced } from '../../pacing/paced-work.js';
import { openSharedMemoryObject } from './shared-memory-object.js';
import type { Room } from '../room.js';
import type { SharedMemoryRange } from './shared-memory-range.js';
import { SharedMemoryRegistry } from './shared-memory-registry.js';

const PAGE = 4096;

function registry(room?: Pick<Room, 'take' | 'give'>): SharedMemoryRegistry {
  const made = new SharedMemoryRegistry({ allowed: true, room });
  onTestFinished(() => made.close());
  return made;
}

function bytesOf(range: SharedMemoryRange): Buffer {
  return finishPaced(range.copy(Buffer.allocUnsafeSlow));
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code} ${message}`;
  }
  return 'nothing was refused';
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

describe('a region', () => {
  it('is read and written where the client has it', () => {
    const object = new SharedMemoryObject(2 * PAGE, floats(1, 2, 3));
    const regions = registry();
    regions.register({ name: 'r', key: object.key, offset: 0, byteSize: PAGE });
    regions.register({ name: 'second', key: object.key.slice(1), offset: PAGE, byteSize: PAGE });
    const input = regions.use({ region: 'r', offset: 4, byteSize: 8 });
    expect(bytesOf(input)).toEqual(Buffer.from(floats(2, 3)));
    const output = regions.use({ region: 'second', offset: 8, byteSize: 16 });
    finishPaced(output.write(floats(7)));
    expect(object.read().subarray(PAGE, PAGE + 16)).toEqual(
      Buffer.concat([Buffer.alloc(8), floats(7), Buffer.alloc(4)]),
    );
    input.release();
    output.release();
  });

  it('gives a copy that the client cannot change any more', () => {
    const object = new SharedMemoryObject(PAGE, floats(1));
    const regions = registry();
    regions.register({ name: 'r', key: object.key, offset: 0, byteSize: PAGE });
    const copy = bytesOf(regions.use({ region: 'r', offset: 0, byteSize: 4 }));
    object.write(floats(5));
    expect(Buffer.from(copy)).toEqual(Buffer.from(floats(1)));
  });

  it('stays readable after the client removed the name of its object', () => {
    const object = new SharedMemoryObject(PAGE, floats(1));
    const regions = registry();
    regions.register({ name: 'r', key: object.key, offset: 0, byteSize: PAGE });
    object.unlink();
    expect(bytesOf(regions.use({ region: 'r', offset: 0, byteSize: 4 }))).toEqual(Buffer.from(floats(1)));
  });

  it('fails a request, and nothing more, after the client shrank its object', () => {
    const object = new SharedMemoryObject(2 * PAGE, floats(1));
    const regions = registry();
    regions.register({ name: 'r', key: object.key, offset: 0, byteSize: 2 * PAGE });
    const range = regions.use({ region: 'r', offset: PAGE, byteSize: 4 });
    object.resize(PAGE);
    const shrunk =
      'INVALID_ARG a shared memory object is smaller than when it was registered, expected its owner to keep its size';
    expect(refusal(() => bytesOf(range))).toBe(shrunk);
    expect(refusal(() => finishPaced(range.write(floats(2))))).toBe(shrunk);
    expect(object.read().length).toBe(PAGE);
  });

  it('keeps no descriptor open once it is unregistered', () => {
    const object = new SharedMemoryObject(PAGE);
    const regions = registry();
    const before = openDescriptors();
    regions.register({ name: 'r', key: object.key, offset: 0, byteSize: PAGE });
    refusal(() => regions.register({ name: 's', key: object.key, offset: 0, byteSize: 2 * PAGE }));
    regions.use({ region: 'r', offset: 0, byteSize: 4 }).release();
    regions.unregister('r');
    expect(openDescriptors()).toBe(before);
  });
});

describe('the room for what is copied', () => {
  it('is taken until the request has ended', () => {
    let left = 20;
    const room = {
      take: (bytes: number) => bytes <= left && ((left -= bytes), true),
      give: (bytes: number) => void (left += bytes),
    };
    const regions = registry(room);
    regions.register({ name: 'r', key: new SharedMemoryObject(PAGE, floats(1, 2, 3)).key, offset: 0, byteSize: PAGE });
    const first = regions.use({ region: 'r', offset: 0, byteSize: 12 });
    const second = regions.use({ region: 'r', offset: 4, byteSize: 8 });
    const third = regions.use({ region: 'r', offset: 8, byteSize: 4 });
    expect(bytesOf(first)).toEqual(Buffer.from(floats(1, 2, 3)));
    expect(bytesOf(second)).toEqual(Buffer.from(floats(2, 3)));
    const refused =
      'UNAVAILABLE there is no room for an input of 4 bytes from shared memory beside what all clients hold (maxInflightBytes): try again later';
    expect(refusal(() => bytesOf(third))).toBe(refused);
    third.release();
    expect(left).toBe(0);
    second.release();
    second.release();
    expect(left).toBe(8);
    first.release();
    expect(left).toBe(20);
  });

  it('is not there for what the machine has no memory for', () => {
    const regions = registry();
    regions.register({ name: 'r', key: new SharedMemoryObject(PAGE).key, offset: 0, byteSize: PAGE });
    const range = regions.use({ region: 'r', offset: 0, byteSize: PAGE });
    const none = () => {
      throw new RangeError('Array buffer allocation failed');
    };
    expect(refusal(() => finishPaced(range.copy(none)))).toMatch(
      /^UNAVAILABLE there is no room for an input of 4096 bytes/,
    );
  });
});

describe('registering', () => {
  it('is refused unless clients may use shared memory; the status is not', () => {
    const regions = new SharedMemoryRegistry({ allowed: false });
    const disabled =
      "UNSUPPORTED Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
    expect(refusal(() => regions.register({ name: 'r', key: '/x', offset: 0, byteSize: 8 }))).toBe(disabled);
    expect(refusal(() => regions.unregister('r'))).toBe(disabled);
    expect(refusal(() => regions.unregisterAll())).toBe(disabled);
    expect(regions.regions()).toEqual([]);
  });

  it.each<[string, { offset?: number | bigint; byteSize: number | bigint }, string]>([
    ['more bytes than the object has', { byteSize: 100_000 }, 'invalid args'],
    ['an offset beyond the object', { offset: 1_000_000, byteSize: 8 }, 'invalid args'],
    ['an end beyond the object', { offset: PAGE, byteSize: PAGE + 1 }, 'invalid args'],
    ['no bytes', { byteSize: 0 }, 'unable to process address spaceInvalid argument'],
    ['an offset between two pages', { offset: 4, byteSize: 64 }, 'unable to process address spaceInvalid argument'],
    [
      'an offset whose sum with the size wraps around',
      { offset: 2n ** 64n - 16n, byteSize: 64 },
      'unable to process address spaceInvalid argument',
    ],
  ])('refuses %s', (_, { offset = 0, byteSize }, why) => {
    const { key } = new SharedMemoryObject(2 * PAGE);
    expect(refusal(() => registry().register({ name: 'r', key, offset, byteSize }))).toBe(
      `INVALID_ARG failed to register shared memory region 'r': ${why}`,
    );
  });

  it('refuses a name that is taken', () => {
    const { key } = new SharedMemoryObject(PAGE);
    const regions = registry();
    regions.register({ name: 'r', key, offset: 0, byteSize: 8 });
    expect(refusal(() => regions.register({ name: 'r', key, offset: 0, byteSize: 8 }))).toBe(
      "ALREADY_EXISTS shared memory region 'r' already in manager",
    );
  });

  it.each(['/no_such_object', '.', '..', '/..', '../../etc/hostname', '/a/../b', 'a\0b', 'x'.repeat(300)])(
    'refuses the key %j',
    (key) => {
      expect(refusal(() => registry().register({ name: 'r', key, offset: 0, byteSize: 8 }))).toBe(
        `INVALID_ARG Unable to open shared memory region: '${key}'`,
      );
    },
  );

  it.each(['', '/', '///'])('refuses the key %j, which names nothing', (key) => {
    expect(refusal(() => registry().register({ name: 'r', key, offset: 0, byteSize: 8 }))).toBe(
      `INVALID_ARG cannot register shared memory region 'r' - invalid shm key '${key}'`,
    );
  });

  it.each([
    '/triton_python_backend_shm_region_1',
    'triton_python_backend_shm_region_',
    '//triton_python_backend_shm_region_x',
  ])("refuses the key %s, which is of Triton's own memory", (key) => {
    expect(refusal(() => registry().register({ name: 'r', key, offset: 0, byteSize: 8 }))).toBe(
      `INVALID_ARG cannot register shared memory region 'r' with key '${key}' as the key contains the reserved prefix 'triton_python_backend_shm_region_'`,
    );
  });

  it('refuses an object that is a link to a file elsewhere', () => {
    const file = join(tmpdir(), `tstriton-test-${process.pid}`);
    const name = `tstriton_test_link_${process.pid}`;
    writeFileSync(file, Buffer.alloc(PAGE));
    symlinkSync(file, `/dev/shm/${name}`);
    onTestFinished(() => {
      rmSync(file);
      rmSync(`/dev/shm/${name}`);
    });
    expect(refusal(() => registry().register({ name: 'r', key: name, offset: 0, byteSize: 8 }))).toBe(
      `INVALID_ARG Unable to open shared memory region: '${name}'`,
    );
  });

  it('is bounded in number', () => {
    const { key } = new SharedMemoryObject(PAGE);
    const regions = registry();
    for (let i = 0; i < 512; i++) regions.register({ name: `r${i}`, key, offset: 0, byteSize: 8 });
    expect(refusal(() => regions.register({ name: 'more', key, offset: 0, byteSize: 8 }))).toBe(
      "UNAVAILABLE cannot register shared memory region 'more': 512 regions are registered, expected no more",
    );
  });

  it('says that it needs Linux elsewhere', () => {
    expect(refusal(() => openSharedMemoryObject('/x', 'darwin'))).toBe(
      'UNSUPPORTED shared memory of clients is supported on Linux only, this server runs on darwin',
    );
  });
});

describe('the use of a region', () => {
  it.each<[string, { region?: string; offset?: number | bigint; byteSize: number | bigint }, string]>([
    ['an unknown region', { region: 'nope', byteSize: 8 }, "NOT_FOUND Unable to find shared memory region: 'nope'"],
    ['an offset at the end', { offset: 64, byteSize: 8 }, "INVALID_ARG Invalid offset for shared memory region: 'r'"],
    ['a negative offset', { offset: -4, byteSize: 8 }, "INVALID_ARG Invalid offset for shared memory region: 'r'"],
    ['too many bytes', { byteSize: 65 }, "INVALID_ARG Invalid offset + byte size for shared memory region: 'r'"],
    [
      'an end outside',
      { offset: 60, byteSize: 8 },
      "INVALID_ARG Invalid offset + byte size for shared memory region: 'r'",
    ],
    ['a negative size', { byteSize: -16 }, "INVALID_ARG Invalid offset + byte size for shared memory region: 'r'"],
    [
      'a size that overflows',
      { offset: 16, byteSize: 2n ** 64n - 8n },
      "INVALID_ARG Integer overflow detected: byte_size (18446744073709551608) + offset (16) exceeds maximum value (18446744073709551615) for region 'r'",
    ],
  ])('is refused for %s', (_, { region = 'r', offset = 0, byteSize }, expected) => {
    const regions = registry();
    regions.register({ name: 'r', key: new SharedMemoryObject(PAGE).key, offset: 0, byteSize: 64 });
    expect(refusal(() => regions.use({ region, offset, byteSize }))).toBe(expected);
  });

  it('may be of no bytes, for a tensor without elements', () => {
    const regions = registry();
    regions.register({ name: 'r', key: new SharedMemoryObject(PAGE).key, offset: 0, byteSize: 64 });
    expect(regions.use({ region: 'r', offset: 0, byteSize: 0 }).byteSize).toBe(0);
    expect(regions.use({ region: 'r', offset: 60, byteSize: 0 }).byteSize).toBe(0);
  });
});

describe('unregistering', () => {
  it('forgets the region, and takes unknown names for done', () => {
    const object = new SharedMemoryObject(PAGE);
    const regions = registry();
    regions.register({ name: 'b', key: object.key, offset: 0, byteSize: 8 });
    regions.register({ name: 'a', key: object.key, offset: 0, byteSize: 16 });
    expect(regions.regions().map(({ name, byteSize }) => [name, byteSize])).toEqual([
      ['a', 16],
      ['b', 8],
    ]);
    regions.unregister('b');
    regions.unregister('never there');
    expect(regions.regions().map(({ name }) => name)).toEqual(['a']);
    expect(refusal(() => regions.region('b'))).toBe("NOT_FOUND Unable to find system shared memory region: 'b'");
    regions.unregisterAll();
    expect(regions.regions()).toEqual([]);
  });

  it('waits for the requests that use the region, and lets further ones in until then', () => {
    const object = new SharedMemoryObject(PAGE);
    const regions = registry();
    regions.register({ name: 'r', key: object.key, offset: 0, byteSize: 8 });
    const first = regions.use({ region: 'r', offset: 0, byteSize: 4 });
    const second = regions.use({ region: 'r', offset: 4, byteSize: 4 });
    regions.unregister('r');
    expect(regions.region('r').name).toBe('r');
    first.release();
    first.release();
    const third = regions.use({ region: 'r', offset: 0, byteSize: 4 });
    finishPaced(second.write(floats(3)));
    expect(object.read().subarray(4, 8)).toEqual(Buffer.from(floats(3)));
    second.release();
    expect(regions.region('r').name).toBe('r');
    third.release();
    expect(regions.regions()).toEqual([]);
    expect(refusal(() => regions.use({ region: 'r', offset: 0, byteSize: 4 }))).toBe(
      "NOT_FOUND Unable to find shared memory region: 'r'",
    );
  });
});
