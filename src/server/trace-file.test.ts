// A disk that fills up takes a part of a write, and fails at the next one.
import fs, { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { temporaryFolder } from '../../test/support/temporary-files.js';
import { TraceFile } from './trace-file.js';

const file = temporaryFolder();
const really = fs.writeSync;
let files = 0;
let size = Infinity;

beforeEach(() => {
  size = Infinity;
  const write = (descriptor: number, data: string | Uint8Array, offset = 0, _: null, position = 0) => {
    const [bytes, at] = typeof data === 'string' ? [Buffer.from(data), offset] : [data.subarray(offset), position];
    if (at >= size) throw new Error('ENOSPC: no space left on device, write');
    return really(descriptor, bytes, 0, Math.min(bytes.length, size - at), at);
  };
  vi.spyOn(fs, 'writeSync').mockImplementation(write as typeof fs.writeSync);
  syncBuiltinESMExports();
});

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

describe('a trace file on a full disk', () => {
  const open = () => {
    const path = file(`${files++}.json`);
    const warnings: string[] = [];
    const traces = new TraceFile(path, { warn: (message) => warnings.push(message) });
    const add = (...ids: readonly unknown[]) => traces.add(ids.map((id) => ({ entries: [{ id }], logFrequency: 0 })));
    return { path, warnings, traces, add, read: () => JSON.parse(readFileSync(path, 'utf8')) as unknown };
  };

  it.each([9, 10, 12, 17])('of %i bytes stays a whole array, and goes on when there is room', (room) => {
    const { path, warnings, traces, add, read } = open();
    size = room;
    add(1);
    expect(read()).toEqual(room < 10 ? [] : [{ id: 1 }]);
    const before = readFileSync(path, 'utf8');
    for (let i = 0; i < 3; i++) {
      add('a long name');
      expect(readFileSync(path, 'utf8')).toBe(before);
    }
    expect(warnings).toEqual([`traces are lost: cannot write ${path}: ENOSPC: no space left on device, write`]);
    size = Infinity;
    add(2, 3);
    add(4);
    expect(read()).toEqual([...(room < 10 ? [] : [{ id: 1 }]), { id: 2 }, { id: 3 }, { id: 4 }]);
    traces.close();
  });

  it.each([0, 1])('of %i bytes is empty at first, and an array when there is room', (room) => {
    size = room;
    const { path, traces, add, read } = open();
    expect(readFileSync(path, 'utf8')).toBe('');
    add(1);
    expect(readFileSync(path, 'utf8')).toBe('');
    size = Infinity;
    add(2);
    add(3);
    expect(read()).toEqual([{ id: 2 }, { id: 3 }]);
    traces.close();
  });
});

describe('a trace file', () => {
  it('takes a trace of any length, as of a stream with very many responses', () => {
    const path = file(`${files++}.json`);
    const traces = new TraceFile(path, { warn: (message) => expect.fail(message) });
    const entries = Array.from({ length: 500_000 }, (_, id) => ({ id }));
    traces.add([{ entries, logFrequency: 0 }]);
    traces.add([{ entries, logFrequency: 1 }]);
    traces.close();
    for (const each of [path, `${path}.0`]) expect(JSON.parse(readFileSync(each, 'utf8'))).toHaveLength(500_000);
  });
});
