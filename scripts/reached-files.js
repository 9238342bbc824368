// Finds the files of the compiled package that users load. Each module is compiled by itself, and then a few files are made of most
// of them. The modules by themselves stay in the folder for tests and benchmarks, and out of the package: they were three quarters
// of its files.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** A path of another file in the text of one, whether it is imported or started as a thread. */
const PATHS = /(["'`])(\.{1,2}\/[^"'`\n]+)\1/g;

/**
 * The files that a package's `exports`, `bin` and the like name.
 * @param {unknown} target a value in package.json
 * @returns {string[]}
 */
export function targets(target) {
  if (typeof target === 'object' && target !== null) return Object.values(target).flatMap(targets);
  return typeof target === 'string' ? [target] : [];
}

/**
 * Returns the paths below `root` of what its package.json names, of all that those files name in their turn, and of the source maps.
 * @param {string} root
 * @returns {Set<string>}
 */
export function reachedFiles(root) {
  const { exports, bin, main, types } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const reached = new Set(targets([exports, bin, main, types]).map((path) => resolve(root, path)));
  for (const file of reached) {
    if (existsSync(`${file}.map`)) reached.add(`${file}.map`);
    if (!/\.(js|cjs|d\.ts)$/.test(file)) continue;
    for (const [, , path = ''] of readFileSync(file, 'utf8').matchAll(PATHS)) {
      const other = resolve(dirname(file), path);
      // The compiler names a declaration by its module.
      const found = file.endsWith('.d.ts') ? other.replace(/\.js$/, '.d.ts') : other;
      if (statSync(found, { throwIfNoEntry: false })?.isFile() === true) reached.add(found);
    }
  }
  return new Set([...reached].map((file) => relative(root, file).split(sep).join('/')));
}
