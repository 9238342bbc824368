#!/usr/bin/env node
// The entry of the command `tstriton`.

import { runCli } from './program.js';

const FALLBACK_COLUMNS = 100;

// The reader of the output may stop reading, as in `tstriton … | head`, and the disk may be full.
const outputClosed = new AbortController();
let lost: Error | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') lost ??= error;
  outputClosed.abort();
});
process.stderr.on('error', () => undefined);

// A module may await what never settles. Node would end the process without a word.
process.once('beforeExit', () => {
  process.stderr.write('tstriton: nothing is left to wait for: a module awaits a promise that never settles\n');
  process.exit(1);
});

async function readInput(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

const exitCode = await runCli(process.argv.slice(2), {
  out: (data) => void process.stdout.write(data),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  terminal: {
    in: process.stdin.isTTY === true,
    out: process.stdout.isTTY === true,
    err: process.stderr.isTTY === true,
  },
  columns: process.stdout.columns || FALLBACK_COLUMNS,
  outputClosed: outputClosed.signal,
  readInput,
});

/** Resolves when all output is written, or nobody reads it any more. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}

await flushed(process.stdout);
if (lost !== undefined) process.stderr.write(`tstriton: cannot write the output: ${lost.message}\n`);
await flushed(process.stderr);
// Timers and connections that a served module has left behind do not keep the process.
process.exit(lost === undefined ? exitCode : exitCode || 1);
