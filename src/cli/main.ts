#!/usr/bin/env node
// The entry of the command `tstriton`.

import { runCli } from './program.js';

// Whoever reads may stop reading: `tstriton … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runCli(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
});
