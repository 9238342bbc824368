// Compiles one TypeScript project into a folder: `node scripts/compile.js <tsconfig> <folder> [--package]`.
// Of the package it also makes few files of many modules, the entries for browsers, and the page.
// The compiler writes beside the folder and the result then takes its place, so that what no longer has a source
// disappears, a failed compile changes nothing, and a process reading the folder meanwhile never finds it half written.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

import { buildPage } from './build-page.js';
import { bundleEntries, bundleForBrowsers, bundleThread } from './bundle.js';

const [project, folder, flag] = process.argv.slice(2);
if (project === undefined || folder === undefined) {
  throw new Error('expected two arguments at least: a tsconfig file and the folder to write');
}

const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
const target = resolve(folder);
// A sibling, so that the relative paths in source maps stay true after the move.
const next = `${target}.next-${process.pid}`;
const previous = `${target}.previous-${process.pid}`;

mkdirSync(dirname(target), { recursive: true });
try {
  const { status, error } = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', next], {
    stdio: 'inherit',
  });
  if (error !== undefined) throw error;
  if (status === 0) {
    if (flag === '--package') {
      await bundleForBrowsers(next);
      await buildPage(next);
      await bundleThread(next, 'server/server-thread.js');
      // The last, because it writes over modules that the others read.
      await bundleEntries(next);
    }
    if (existsSync(target)) renameSync(target, previous);
    renameSync(next, target);
  }
  process.exitCode = status ?? 1;
} finally {
  for (const leftover of [next, previous]) rmSync(leftover, { recursive: true, force: true });
}
