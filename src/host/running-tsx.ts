// Finds out whether this process runs under tsx, and where tsx lies. A thread should read its TypeScript module as the rest
// of the program is read, but tsx itself does not reach into threads on Node 20.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The URL of tsx's API for ES modules; undefined when the process does not run under tsx. */
export function runningTsx(
  execArgv: readonly string[] = process.execArgv,
  nodeOptions: string = process.env['NODE_OPTIONS'] ?? '',
): string | undefined {
  for (const option of [...execArgv, ...nodeOptions.split(/\s+/)]) {
    const preloaded = option.replace(/^--(import|require|loader|experimental-loader)=/, '');
    const base = /^tsx(\/|$)/.test(preloaded)
      ? join(process.cwd(), 'program.js')
      : /[/\\]tsx[/\\]dist[/\\]/.test(preloaded)
        ? preloaded
        : undefined;
    if (base === undefined) continue;
    try {
      return tsxApiOf(createRequire(base));
    } catch {
      // Not tsx, but something else of that name.
    }
  }
  return undefined;
}

/** Finds tsx's API as an import would. The file that `require` finds does not work on Node 20. */
export function tsxApiOf(require: NodeJS.Require): string {
  const manifest = require.resolve('tsx/package.json');
  const { exports } = require(manifest) as TsxManifest;
  return pathToFileURL(join(dirname(manifest), exports['./esm/api'].import.default)).href;
}

interface TsxManifest {
  readonly exports: { readonly './esm/api': { readonly import: { readonly default: string } } };
}
