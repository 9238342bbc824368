// Measures the model with NVIDIA's perf_analyzer: 4, 8, 12 and 16 requests at a time over gRPC, with texts from a file.
//
//   node build/examples/perf-analyzer/client.js localhost:8001
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TritonError } from 'tstriton';

import { whenStarted } from '../when-started.js';

const TEXTS = ['one', 'two words', 'the quick brown fox', 'Grüezi mitenand'];

/** The file of `--input-data`: an entry for each request, each input with its elements and its shape. */
export const inputData = { data: TEXTS.map((text) => ({ text: { content: [text], shape: [1] } })) };

export function measure(address: string, program = 'perf_analyzer'): string {
  const folder = mkdtempSync(join(tmpdir(), 'perf-analyzer-'));
  try {
    const data = join(folder, 'texts.json');
    writeFileSync(data, JSON.stringify(inputData));
    const options = [
      '-i',
      'grpc',
      '--input-data',
      data,
      '--concurrency-range',
      '4:16:4',
      '--measurement-mode',
      'count_windows',
    ];
    const { status, stdout, stderr, error } = spawnSync(program, ['-m', 'Count', '-u', address, ...options], {
      encoding: 'utf8',
    });
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
      throw new TritonError(
        'NOT_FOUND',
        `${program} is not on the PATH: the README says where it is, and what to use without it`,
      );
    }
    if (status !== 0)
      throw new TritonError('UNAVAILABLE', `${program} failed: ${(stderr || stdout).trim().split('\n').at(-1)}`);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

await whenStarted(import.meta.url, async () => {
  console.log(measure(process.argv[2] ?? 'localhost:8001'));
});
