import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';

import { runningTsx } from './running-tsx.js';

const manifest = createRequire(import.meta.url).resolve('tsx/package.json');
const api = pathToFileURL(manifest.replace('package.json', 'dist/esm/api/index.mjs')).href;
const loader = pathToFileURL(manifest.replace('package.json', 'dist/loader.mjs')).href;
const preflight = manifest.replace('package.json', 'dist/preflight.cjs');

describe('runningTsx', () => {
  it.each<[string, readonly string[], string?]>([
    ['--import tsx', ['--no-warnings', '--import', 'tsx']],
    ['--import=tsx', ['--import=tsx']],
    ['--import tsx/esm', ['--import', 'tsx/esm']],
    ["tsx's command", ['--require', preflight, '--import', loader]],
    ['NODE_OPTIONS', [], '--no-warnings --import=tsx'],
    ['NODE_OPTIONS with a URL', [], `--import ${loader}`],
  ])('finds it by %s', (_, execArgv, options = '') => {
    expect(runningTsx(execArgv, options)).toBe(api);
  });

  it.each<[string, readonly string[]]>([
    ['no option', []],
    ['other modules', ['--import', './tsx.js', '--require', 'tsx-helper', '--title=tsx']],
    ['another tsx', ['--import', 'file:///no/such/tsx/dist/loader.mjs']],
  ])('finds none by %s', (_, execArgv) => {
    expect(runningTsx(execArgv, '')).toBeUndefined();
  });
});
