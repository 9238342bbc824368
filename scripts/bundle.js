// Makes one file of a compiled module and everything that it imports. What is imported late becomes a file beside it,
// one for all: of several, what they share with the first would be split off from it. Packages and Node's own modules
// stay imports.
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute } from 'node:path';

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
 * Replaces the module by its bundle.
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
        groups: [{ name: 'late', test: (id) => !early.has(id) }],
      },
    });
  } finally {
    await build.close();
  }
}
