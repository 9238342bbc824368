// `npm run build`: the pages, the reference of every exported name, and the site of both in build/site.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { writePages } from './pages.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const require = createRequire(import.meta.url);

/**
 * @param {string} name
 * @param {string} bin
 * @param {readonly string[]} args
 */
function run(name, bin, ...args) {
  const file = join(dirname(require.resolve(`${name}/package.json`)), bin);
  execFileSync(process.execPath, [file, ...args], { cwd: here, stdio: 'inherit' });
}

writePages(dirname(here.slice(0, -1)), join(here, 'pages'));
run('typedoc', 'bin/typedoc', '--options', 'typedoc.json');
run('vitepress', 'bin/vitepress.js', 'build');
