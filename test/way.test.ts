// Holds the way of one small request to ceilings: the modules, functions and calls between the socket and the callable and
// back. A person who follows a request reads these. Lower a ceiling when the way gets shorter; never raise one in passing.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

const MEASURED_WAY = fileURLToPath(new URL('way/measured-way.js', import.meta.url));

interface Way {
  readonly modules: number;
  readonly functions: number;
  readonly calls: number;
}

const CEILINGS: Readonly<Record<string, Way>> = {
  http: { modules: 66, functions: 285, calls: 357 },
  json: { modules: 72, functions: 333, calls: 451 },
  grpc: { modules: 79, functions: 318, calls: 423 },
};

async function measureWay(wire: string): Promise<Way> {
  const { stdout } = await promisify(execFile)(process.execPath, [MEASURED_WAY, wire]);
  return JSON.parse(stdout) as Way;
}

describe('the way of a small request', () => {
  it.each(Object.entries(CEILINGS))('stays within its ceilings over %s', async (wire, ceiling) => {
    const way = await measureWay(wire);
    expect(way.modules).toBeLessThanOrEqual(ceiling.modules);
    expect(way.functions).toBeLessThanOrEqual(ceiling.functions);
    expect(way.calls).toBeLessThanOrEqual(ceiling.calls);
    // The count itself works: a request cannot be served by next to nothing.
    expect(way.functions).toBeGreaterThan(50);
  });
});
