// Makes one file of a compiled module and everything that it imports. Packages stay imports.
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

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
 * Replaces the module by its bundle. What is imported late becomes a file beside it, one for all: of several, what they
 * share with the first would be split off from it. Node's own modules stay imports.
 * @param {string} module
 */
export async function bundle(module) {
  const name = basename(module, '.js');
  /** What a start loads. */
  const early = new Set();
  const reach = {
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
  const build = await rolldown({
    input: { [name]: module },
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    plugins: [sourceMaps, reach],
    onLog(level, log) {
      if (level === 'warn') throw new Error(`bundling ${module}: ${log.message}`);
    },
  });
  try {
    await build.write({
      dir: dirname(module),
      format: 'esm',
      sourcemap: true,
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
 * Writes the client of a compiled package for where there is no Node, `client/browser.js`: its entry as it is, but for the
 * modules that have a counterpart for browsers, and Node's `Buffer`.
 * @param {string} folder of the compiled package
 */
export async function bundleForBrowsers(folder) {
  const client = join(folder, 'client');
  const counterparts = new Map([
    ['node:buffer', join(client, 'browser-buffer.js')],
    ['./open-transport.js', join(client, 'open-fetch-transport.js')],
  ]);
  const build = await rolldown({
    input: { browser: join(client, 'index.js') },
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
    await build.write({ dir: client, format: 'esm', sourcemap: true, comments });
  } finally {
    await build.close();
  }
}
