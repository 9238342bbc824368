// Makes few files of the modules of the compiled package. Other packages stay imports.
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from 'node:path';

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

/** The files of the page stay files, because a copy would be larger than the rest of what is imported late. */
const PAGE_FILES = 'frontend/page/page-files.js';
/** Stands before paths in the package until the place of the importing file is known. */
const ROOT = 'dist:/';

/**
 * Keeps the paths that modules give to other files true, wherever the file lies that has the module in the end.
 * @param {string} folder of the compiled package
 */
function pathsOf(folder) {
  return {
    name: 'paths of other files',
    /** @param {string} id @param {string | undefined} importer */
    resolveId(id, importer) {
      if (importer === undefined || resolve(dirname(importer), id) !== join(folder, PAGE_FILES)) return null;
      return { id: `${ROOT}${PAGE_FILES}`, external: /** @type {const} */ (true) };
    },
    /** @param {string} code @param {string} id */
    transform(code, id) {
      const from = relative(folder, dirname(id)).split(sep).join('/');
      const moved = code.replace(
        /new URL\('(\.[^']*)', import\.meta\.url\)/g,
        // A path that leads nowhere stands in a text for users.
        (text, path) =>
          existsSync(join(folder, from, path)) ? `new URL('${ROOT}${posix.join(from, path)}', import.meta.url)` : text,
      );
      return moved === code ? null : { code: moved, map: null };
    },
    /** @param {string} code @param {{ readonly fileName: string }} file */
    renderChunk(code, { fileName }) {
      const up = posix.relative(posix.dirname(fileName), '.');
      return code.includes(ROOT) ? { code: code.replaceAll(ROOT, up === '' ? './' : `${up}/`), map: null } : null;
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
    name: `what ${basename(module)} imports at once`,
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

/** A build must not fail because the machine is slow, of which the bundler warns too. */
const TIMELESS = { bundlerTimings: false };

/** Comments are a third of the text, and a start reads all of it. Annotations are for the bundlers of others. */
const comments = { legal: false, annotation: true, jsdoc: false };

/**
 * @param {string} folder of the compiled package
 * @param {import('rolldown').InputOptions} input
 * @param {import('rolldown').OutputOptions} output
 */
async function write(folder, input, output) {
  const build = await rolldown({
    ...input,
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    external: isPackage,
    plugins: [sourceMaps, pathsOf(folder), input.plugins],
    checks: TIMELESS,
    onLog(level, log) {
      if (level === 'warn') throw new Error(`bundling in ${folder}: ${log.message}`);
    },
  });
  try {
    // The map of each module has its text.
    await build.write({
      dir: folder,
      format: 'esm',
      sourcemap: true,
      sourcemapExcludeSources: true,
      comments,
      ...output,
    });
  } finally {
    await build.close();
  }
}

/**
 * Makes one CommonJS file of the module of a thread, `.cjs`, for Node's loader of ES modules takes 5 ms to begin in each thread.
 * What the module imports late becomes a file beside it, one for all: of several, what they share with the first would be split
 * off from it. Node's own modules stay imports.
 * @param {string} folder of the compiled package
 * @param {string} entry in it
 */
export async function bundleThread(folder, entry) {
  const name = entry.replace(/\.js$/, '');
  /** What a start loads. @type {Set<string>} */
  const early = new Set();
  const module = join(folder, entry);
  await write(
    folder,
    { input: { [name]: module }, plugins: [reaching(module, early)] },
    {
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: `${dirname(name)}/[name].cjs`,
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [
          { name: `${basename(name)}-late`, test: (id) => !early.has(id) },
          { name: basename(name), test: (id) => early.has(id) },
        ],
      },
    },
  );
}

/** What a process or a thread loads first, by its path without the ending. */
const ENTRIES = [
  'index',
  'client/index',
  'client/shared-memory/index',
  'onnx/index',
  'onnx/onnx-instance',
  'testing/index',
  'cli/main',
  'link/instance-thread',
  'remote/direct-way',
  'server/server-handle',
];
/** Those whose loading counts, with a letter for the names of files. Each loads no module that it does not need. */
const QUICK = new Map([
  ['index', 'i'],
  ['client/index', 'c'],
  ['server/server-handle', 's'],
  ['link/instance-thread', 't'],
  ['cli/main', 'm'],
]);

/**
 * Makes few files of the many modules that the package's entries import, because opening a file and finding it costs more than
 * reading it. Each module is in one file, so that all entries have the same classes. The files lie in `shared/`, one for each set
 * of entries.
 * @param {string} folder of the compiled package
 */
export async function bundleEntries(folder) {
  /** @param {string} entry */
  const pathOf = (entry) => join(folder, `${entry}.js`);
  const input = Object.fromEntries(ENTRIES.map((entry) => [entry, pathOf(entry)]));
  const reached = [...QUICK].map(([entry, letter]) => ({ letter, entry: pathOf(entry), ids: new Set() }));
  // An entry stays alone, because it runs when it is loaded.
  const entries = new Set(Object.values(input));
  /** @param {string} id */
  const lettersOf = (id) =>
    reached.flatMap(({ letter, ids }) => (ids.has(id) && !entries.has(id) ? [letter] : [])).join('');
  await write(
    folder,
    { input, plugins: reached.map(({ entry, ids }) => reaching(entry, ids)) },
    {
      chunkFileNames: 'shared/[name].js',
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ debugName: 'shared', name: lettersOf, test: (id) => lettersOf(id) !== '' }],
      },
    },
  );
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
    ['./tls-reason.js', join(client, 'browser/no-tls-reason.js')],
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
    checks: TIMELESS,
    onLog(level, log) {
      if (level === 'warn') throw new Error(`bundling for browsers: ${log.message}`);
    },
  });
  try {
    await build.write({ dir: dirname(join(folder, entry)), format: 'esm', sourcemap: true, comments });
  } finally {
    await build.close();
  }
}
