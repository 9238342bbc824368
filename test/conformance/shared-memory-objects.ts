// The shared memory objects that the recorded clients had made: files of /dev/shm.
import { rmSync, writeFileSync } from 'node:fs';

/** What all names of the recorded objects begin with. */
const RECORDED = 'golden_';
/** As long, and of this process alone: what others of this machine test at the same time has the same cases. */
const OWN = `g${process.pid.toString(36).padStart(5, '0')}_`;

/** Our name for a recorded one, wherever it stands in a text. */
export function ownName(text: string): string {
  return text.replaceAll(RECORDED, OWN);
}

/** Puts our names into a recorded case, as `JSON.parse` takes it: into texts, and into bytes in base64. */
export function withOwnNames(member: string, value: unknown): unknown {
  if (member.endsWith('_base64') && Array.isArray(value)) return value.map((one) => withOwnNames(member, one));
  if (typeof value !== 'string') return value;
  if (!member.endsWith('_base64')) return ownName(value);
  const bytes = Buffer.from(value, 'base64').toString('latin1');
  return bytes.includes(RECORDED) ? Buffer.from(ownName(bytes), 'latin1').toString('base64') : value;
}

interface SharedMemoryContent {
  readonly name: string;
  readonly size: number;
  /** The 32-bit floats that it begins with. */
  readonly floats: readonly number[];
}

export const HTTP_SHARED_MEMORY: readonly SharedMemoryContent[] = ['a', 'b'].map((letter) => ({
  name: `${OWN}http_${letter}`,
  size: 4096,
  floats: letter === 'a' ? [0, 1, 2, 3] : [],
}));

export const GRPC_SHARED_MEMORY: readonly SharedMemoryContent[] = [
  '',
  '_2',
  '_3',
  '_4',
  '_5',
  '_6',
  '_7',
  '_8',
  '_9',
].map((suffix) => ({
  name: `${OWN}grpc_region${suffix}`,
  size: 8192,
  floats: [1, 2, 3, 4, 5, 6, 7, 8],
}));

/** Makes the objects; they are there until disposed. */
export function sharedMemoryObjects(contents: readonly SharedMemoryContent[]): Disposable {
  for (const { name, size, floats } of contents) {
    const content = Buffer.alloc(size);
    content.set(new Uint8Array(Float32Array.from(floats).buffer));
    writeFileSync(`/dev/shm/${name}`, content);
  }
  return {
    [Symbol.dispose]() {
      for (const { name } of contents) rmSync(`/dev/shm/${name}`, { force: true });
    },
  };
}
