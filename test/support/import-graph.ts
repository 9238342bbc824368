// Which module of src imports which, read from the source text, for the test of the layers. A module is named by its path
// inside src (`core/model.ts`). Relies on prettier's layout: an import or export statement begins its line.
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { posix, sep } from 'node:path';

/** The specifiers that each module imports, as written; `import type` counts like any other import. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const STATIC_IMPORT =
  /^[ \t]*(?:import\s+(?:type\s+)?(?:[\w$]+\s*,?\s*)?(?:\{[^}]*\}|\*\s*as\s+[\w$]+)?\s*from|import|export\s+(?:type\s+)?(?:\{[^}]*\}|\*(?:\s*as\s+[\w$]+)?)\s*from)\s*(['"])([^'"\n]+)\1/gm;
const DYNAMIC_IMPORT = /\bimport\(\s*(['"`])([^'"`\n]+)\1/g;
const COMMENT_LINE = /^[ \t]*(?:\/\/|\*|\/\*).*$/gm;

/** Specifiers of the static, dynamic and type imports in a source text, each once. */
export function importsOf(source: string): string[] {
  const code = source.replace(COMMENT_LINE, '');
  const found = [...code.matchAll(STATIC_IMPORT), ...code.matchAll(DYNAMIC_IMPORT)];
  return [...new Set(found.map((match) => match[2]!))];
}

/** The text of every module below `folder` but its tests, by the module's path. */
export function sourcesBelow(folder: string): ReadonlyMap<string, string> {
  const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.endsWith('.d.ts'))
    .sort();
  return new Map(modules.map((path) => [path, readFileSync(`${folder}/${path}`, 'utf8')]));
}

export function readImportGraph(folder: string): ImportGraph {
  return new Map([...sourcesBelow(folder)].map(([path, source]) => [path, importsOf(source)]));
}

/** The module that a relative specifier of `from` names; it may not exist. Undefined for a package. */
export function resolveModule(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
}

/** The package that a specifier names, `@scope/name` included; undefined for our own modules and Node's. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || isBuiltin(specifier)) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Every module that closes a circle, as the path of the circle: `a.ts -> b.ts -> a.ts`. */
export function findCircles(graph: ImportGraph): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (module: string, path: readonly string[]): void => {
    const start = path.indexOf(module);
    if (start >= 0) {
      circles.push([...path.slice(start), module].join(' -> '));
      return;
    }
    if (done.has(module)) return;
    for (const specifier of graph.get(module) ?? []) {
      const target = resolveModule(module, specifier);
      if (target !== undefined) visit(target, [...path, module]);
    }
    done.add(module);
  };
  for (const module of graph.keys()) visit(module, []);
  return circles;
}
