// Builds the page from `page/` into a module of the package: each file minified, compressed and in base64, so that the server has it in
// memory without looking for files.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = join(ROOT, 'page');
/** What the page's script is made of beside ours. Their licences want to stand in each copy. */
const PACKAGES = ['preact', 'uplot'];

/**
 * Replaces the module without files of a compiled package.
 * @param {string} folder of the compiled package
 */
export async function buildPage(folder) {
  const module = join(folder, 'frontend/page/page-files.js');
  if (!existsSync(module)) throw new Error(`the page has no place: ${module} is not there`);
  const { outputFiles, metafile } = await build({
    entryPoints: { page: join(SOURCES, 'main.tsx') },
    outdir: join(folder, 'page'),
    tsconfig: join(SOURCES, 'tsconfig.json'),
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
  });
  for (const input of Object.keys(metafile.inputs)) {
    const [, name = ''] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
    if (name !== '' && !PACKAGES.includes(name))
      throw new Error(`the page has ${name}, whose licence nobody has looked at`);
  }
  const licences = PACKAGES.map(
    (name) => `${name}: ${readFileSync(join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8')}`,
  );
  const notice = `/*! This script contains:\n\n${licences.join('\n').trim()}\n*/\n`;
  /** @param {string} extension */
  const output = (extension) => outputFiles.find(({ path }) => path.endsWith(extension))?.text ?? '';
  const files = {
    '/': readFileSync(join(SOURCES, 'index.html'), 'utf8').replace(/\n\s*/g, '\n'),
    '/page/page.js': notice + output('.js'),
    '/page/page.css': output('.css'),
  };
  const members = Object.entries(files).map(([path, text]) => {
    const gzipped = gzipSync(text, { level: constants.Z_BEST_COMPRESSION });
    return `  '${path}': '${gzipped.toString('base64')}',`;
  });
  writeFileSync(
    module,
    `/** By path. Each file is in base64 of its gzip. */\nexport const PAGE_FILES = {\n${members.join('\n')}\n};\n`,
  );
}
