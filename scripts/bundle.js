// Makes one file of a compiled module and everything that it imports. Packages stay imports.
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';

import { rolldown } from 'rolldown';

// Hands the compiler's source maps on, so that a stack trace leads to the TypeScript.
const sourceMaps = {
  name: 'source maps of the compiler',
  /** @param {string} id */
  load(id) {
    if (!existsSync(`${id}.map`)) return null;
    return {
      code: readFileSync(id, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, ''),
      map: readFileSync(`${id}.map`, 'utf8'),
    };
  },
};

/**
 * Modules that stay what they are, beside the bundle of `module`: what is loaded already, and the files of the page. A copy of those
 * would be larger than the rest of what is imported late.
 * @param {string} module
 * @param {ReadonlySet<string>} loaded
 */
function staying(module, loaded) {
  return {
    name: 'modules that stay',
    /** @param {string} id @param {string | undefined} importer */
    resolveId(id, importer) {
      if (importer === undefined || !id.startsWith('.')) return null;
      const imported = resolve(dirname(importer), id);
      if (!loaded.has(imported) && basename(id) !== 'page-files.js') return null;
      const path = relative(dirname(module), imported);
      return { id: path.startsWith('.') ? path : `./${path}`, external: /** @type {const} */ (true) };
    },
  };
}

/**
 * Adds to `early` what an import of the module loads at once.
 * @param {string} module
 * @param {Set<string>} early
 */
function reaching(module, early) {
  return {
    name: 'what is imported at once',
    /** @this {import('rolldown').PluginContext} */
    buildEnd() {
      const ids = [module];
      for (const id of ids) {
        if (early.has(id)) continue;
        early.add(id);
        ids.push(...(this.getModuleInfo(id)?.importedIds ?? []));
      }
    },
  };
}

/** @param {string} id */
const isPackage = (id) => !id.startsWith('.') && !isAbsolute(id);

/**
 * The modules that an import of a module loads at once.
 * @param {string} module
 */
async function loadedWith(module) {
  const early = new Set();
  const build = await rolldown({ input: module, external: isPackage, plugins: [reaching(module, early)] });
  try {
    await build.generate();
  } finally {
    await build.close();
  }
  return early;
}

/**
 * Replaces the module by its bundle. What is imported late becomes a file beside it, one for all: of several, what they
 * share with the first would be split off from it. Node's own modules stay imports.
 * @param {string} module
 * @param {string} [importer] imports the module late, in the same thread. What it has loaded by then stays imports too.
 */
export async function bundle(module, importer) {
  const name = basename(module, '.js');
  const loaded = importer === undefined ? new Set() : await loadedWith(importer);
  /** What a start loads. */
  const early = new Set();
  const build = await rolldown({
    input: { [name]: module },
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    external: isPackage,
    plugins: [sourceMaps, reaching(module, early), staying(module, loaded)],
    onLog(level, log) {
      if (level === 'warn') throw new Error(`bundling ${module}: ${log.message}`);
    },
  });
  try {
    await build.write({
      dir: dirname(module),
      format: 'esm',
      sourcemap: true,
      // The map of each module has its text.
      sourcemapExcludeSources: true,
      // Comments are a third of the text, and a start reads all of it.
      comments: false,
      chunkFileNames: `${name}-[name].js`,
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [
          { name: 'late', test: (id) => !early.has(id) },
          { name, test: (id) => early.has(id) },
        ],
      },
    });
  } finally {
    await build.close();
  }
}

// The tables of messages without what only the wire and the server's errors need: numbers of fields, names of types.
const smallTables = {
  name: 'small tables of messages',
  /** @param {string} code @param {string} id */
  transform(code, id) {
    if (!dirname(id).endsWith(join('protobuf', 'generated'))) return null;
    const unnamed = code.replace(/(message|enumeration)\('[\w.]+'/g, "$1(''");
    return { code: unnamed.replace(/^( ?\w+) \d+ (?=\S)/gm, '$1  ').replaceAll('`\n', '`'), map: null };
  },
};

/**
 * Writes a compiled package's entries for where there is no Node, the client as `client/browser.js` and what declarations need as
 * `browser.js`: each as it is, but for the modules that have a counterpart for browsers, and Node's `Buffer`.
 * @param {string} folder of the compiled package
 */
export async function bundleForBrowsers(folder) {
  await bundleForBrowser(folder, 'client/index.js');
  await bundleForBrowser(folder, 'browser.js');
}

/**
 * @param {string} folder of the compiled package
 * @param {string} entry in it; what is written lies beside it
 */
async function bundleForBrowser(folder, entry) {
  const client = join(folder, 'client');
  const counterparts = new Map([
    ['node:buffer', join(client, 'browser/browser-buffer.js')],
    ['./open-transport.js', join(client, 'browser/open-fetch-transport.js')],
    ['./infer-sequence.js', join(client, 'browser/no-streams.js')],
    ['./infer-stream.js', join(client, 'browser/no-streams.js')],
    ['./number-data.js', join(client, 'browser/browser-number-data.js')],
    ['../../protocol/http/known-headers.js', join(client, 'browser/no-known-headers.js')],
  ]);
  const build = await rolldown({
    input: { browser: join(folder, entry) },
    platform: 'browser',
    transform: { inject: { Buffer: ['node:buffer', 'Buffer'] } },
    plugins: [
      smallTables,
      sourceMaps,
      {
        name: 'counterparts for browsers',
        resolveId(id, importer) {
          const counterpart = counterparts.get(id);
          const isOurs = id.startsWith('.') || isAbsolute(id) || id.startsWith('\0');
          if (counterpart === undefined && !isOurs) throw new Error(`${importer} imports ${id}`);
          return counterpart ?? null;
        },
      },
    ],
    onLog(level, log) {
      if (level === 'warn') throw new Error(`bundling for browsers: ${log.message}`);
    },
  });
  try {
    // Annotations let the bundlers of others leave out what is not used.
    const comments = { legal: false, annotation: true, jsdoc: false };
    await build.write({ dir: dirname(join(folder, entry)), format: 'esm', sourcemap: true, comments });
  } finally {
    await build.close();
  }
}
