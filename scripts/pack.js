// Packs the package as it is published: `node scripts/pack.js <folder>` writes the tarball there and prints its path. It
// packs a copy, in which the links of the documents lead to what readers of the package have (`packed-links.js`), and which has
// only those files of the build that users load (`reached-files.js`).
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { packedLinks } from './packed-links.js';
import { reachedFiles } from './reached-files.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('expected an argument: the folder to write the tarball to');

/**
 * What `npm pack` says in JSON.
 * @param {string} cwd
 * @param {readonly string[]} args
 * @returns {{ readonly filename: string, readonly files: readonly { readonly path: string }[] }}
 */
function npmPack(cwd, args) {
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const packed = JSON.parse(output);
  return Array.isArray(packed) ? packed[0] : Object.values(packed)[0];
}

const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const reached = reachedFiles(root);
const listed = npmPack(root, ['--dry-run']).files.map(({ path }) => path);
const files = new Set(listed.filter((path) => !path.startsWith('dist/') || reached.has(path)));
const copy = mkdtempSync(join(tmpdir(), `${name}-`));
try {
  for (const path of files) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    if (path.endsWith('.md')) {
      const markdown = readFileSync(join(root, path), 'utf8');
      const where = {
        page: path,
        address: `https://unpkg.com/${name}@${version}`,
        isPacked: (/** @type {string} */ target) => files.has(target),
      };
      writeFileSync(join(copy, path), packedLinks(markdown, where));
    } else {
      cpSync(join(root, path), join(copy, path));
    }
  }
  const destination = resolve(folder);
  mkdirSync(destination, { recursive: true });
  console.log(join(destination, npmPack(copy, ['--pack-destination', destination]).filename));
} finally {
  rmSync(copy, { recursive: true, force: true });
}
