#!/usr/bin/env node
// The entry of the command `tstriton`.

import { runCli } from './program.js';

const FALLBACK_COLUMNS = 100;

// The reader of the output may stop reading: `tstriton … | head`.
const outputClosed = new AbortController();
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  outputClosed.abort();
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

// Timers and connections that a served module has left behind do not keep the process.
await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
process.exit(exitCode);
