// Holds src to its layers: who may import whom, no circles, no package that is not a declared dependency.
// The table is the one in the architecture document; a new folder needs a row in both.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findCircles, importsOf, packageOf, readImportGraph, resolveModule } from './support/import-graph.js';
import type { ImportGraph } from './support/import-graph.js';

const PLAIN_DATA = [
  'model',
  'tensor',
  'errors',
  'logger',
  'ascii',
  'linked-list',
  'ring',
  'pacing',
  'observability',
  'lifecycle',
  'checks',
];
// Sockets are read into memory that frontends ask for.
const FRONTEND = ['core', 'protocol', 'http1', 'sockets/large-memory.ts', ...PLAIN_DATA];
/** What HTTP/2 is to its users, without what it is made of. */
const HTTP2_CONTRACTS = [
  'http2/connection-listener.ts',
  'http2/connection-options.ts',
  'http2/header-list.ts',
  'http2/http2-error.ts',
  'http2/http2-port.ts',
  'http2/http2-stream.ts',
  'http2/outgoing-headers.ts',
];

/** Each layer and the layers it may import; every layer may import itself. An entry ending in `.ts` is that one module. */
const MAY_IMPORT: Readonly<Record<string, readonly string[] | 'anything'>> = {
  ascii: [],
  'linked-list': [],
  ring: [],
  errors: [],
  logger: ['errors'],
  tensor: ['errors', 'logger'],
  checks: ['tensor', 'errors'],
  pacing: ['errors'],
  lifecycle: ['errors', 'pacing'],
  observability: ['checks', 'errors', 'logger', 'ascii'],
  model: ['tensor', 'errors', 'logger', 'ascii', 'checks', 'pacing', 'lifecycle', 'observability'],
  callables: PLAIN_DATA,
  openai: ['callables', ...PLAIN_DATA],
  protocol: PLAIN_DATA,
  core: PLAIN_DATA,
  host: PLAIN_DATA,
  link: ['core/instance/model-instance.ts', 'host', ...PLAIN_DATA],
  sockets: ['linked-list', 'pacing'],
  http1: ['sockets', 'ascii', 'pacing'],
  http2: ['sockets', 'ascii', 'pacing'],
  frontend: FRONTEND,
  'frontend/http': ['frontend', ...FRONTEND],
  // It is given its port and its streams.
  'frontend/grpc': ['frontend', ...HTTP2_CONTRACTS, ...FRONTEND],
  // Other servers' sockets in the place of its own.
  'frontend/mounted': ['frontend', 'frontend/http', 'sockets/byte-budget.ts', 'sockets/write-turn.ts', ...FRONTEND],
  // Further paths of the same port.
  'frontend/openai': ['frontend', 'frontend/http', ...FRONTEND],
  // A page on the same port.
  'frontend/page': ['frontend', 'frontend/http', ...FRONTEND],
  // Metrics are served over the same HTTP listener.
  'frontend/metrics': ['frontend', 'frontend/http', ...FRONTEND],
  // Other ports for the same HTTP endpoints.
  'frontend/vertex-ai': ['frontend', 'frontend/http', 'frontend/metrics', ...FRONTEND],
  'frontend/sagemaker': ['frontend', 'frontend/http', ...FRONTEND],
  // What lies in folders, made into what `bind` takes.
  repository: ['onnx', 'host', 'link', 'protocol', ...PLAIN_DATA],
  // Another engine in the place of core and frontends.
  tritonserver: ['core/instance/model-instance.ts', 'sockets/socket-reader.ts', 'protocol', ...PLAIN_DATA],
  server: [
    'config',
    'repository',
    'tritonserver',
    // It loads models into tritonserver.
    'client',
    'frontend',
    'frontend/http',
    'frontend/grpc',
    'frontend/metrics',
    'frontend/mounted',
    'frontend/openai',
    'frontend/page',
    'frontend/vertex-ai',
    'frontend/sagemaker',
    'in-process/late-transport.ts',
    'host',
    'link',
    'http2/http2-port.ts',
    'http2/http2-server.ts',
    // What ports share.
    'sockets/byte-budget.ts',
    'sockets/connection-limit.ts',
    'sockets/open-files.ts',
    'sockets/unix-socket.ts',
    ...FRONTEND,
  ],
  client: ['protocol', 'http1', 'http2', 'in-process/open-transport.ts', ...PLAIN_DATA],
  // Both ends of a request, without the wire between.
  'in-process': ['client', 'protocol', 'frontend', 'frontend/grpc', ...PLAIN_DATA],
  onnx: ['link', ...PLAIN_DATA],
  testing: [
    'in-process',
    'client',
    'core',
    'host',
    'link',
    'protocol',
    'frontend',
    'frontend/grpc',
    'server/in-process.ts',
    'triton',
    ...PLAIN_DATA,
  ],
  // It knows what the frontends take, and starts none.
  config: ['frontend', 'frontend/grpc', 'frontend/sagemaker', 'core', 'protocol', ...PLAIN_DATA],
  triton: [
    'config',
    'server',
    'in-process/open-transport.ts',
    'host',
    'model',
    'checks',
    'observability',
    'errors',
    'logger',
  ],
  // Models of this process for the server of another: a client of its port, with what a server has of models.
  remote: [
    'client',
    'host',
    'http2',
    'link',
    'protocol',
    'server',
    'sockets/unix-socket.ts',
    'tritonserver',
    ...PLAIN_DATA,
  ],
  index: 'anything',
  browser: ['callables', 'openai', ...PLAIN_DATA],
  cli: 'anything',
};
/** Wires of Node's that src has its own for. */
const WIRES = new Set(['node:http', 'node:https', 'node:http2']);
/** These are served through somebody else's server, and import the types of its requests. */
const GUESTS = new Set([
  'frontend/mounted/mounted-frontend.ts',
  'frontend/mounted/node-exchange.ts',
  'server/mount.ts',
]);
/** Nothing imports these. */
const ENTRY_LAYERS = new Set(['index', 'browser', 'cli']);

/** The layer of a module: its folder, the folder below for a frontend, its own name at the top of src. */
function layerOf(module: string): string {
  const [first = '', second, third] = module.split('/');
  if (second === undefined) return first.replace(/\.ts$/, '');
  return first === 'frontend' && third !== undefined ? `${first}/${second}` : first;
}

function mayImport(from: string, to: string): boolean {
  const [source, target] = [layerOf(from), layerOf(to)];
  if (source === target) return true;
  if (ENTRY_LAYERS.has(target)) return false;
  const allowed = MAY_IMPORT[source] ?? [];
  return allowed === 'anything' || allowed.includes(target) || allowed.includes(to);
}

/** What breaks the rules in `graph`, one line each; `packages` are the declared run-time dependencies. */
function findViolations(graph: ImportGraph, packages: readonly string[]): string[] {
  const violations: string[] = [];
  for (const [module, specifiers] of graph) {
    const layer = layerOf(module);
    if (!Object.hasOwn(MAY_IMPORT, layer)) violations.push(`src/${module}: unknown layer ${layer}`);
    for (const specifier of specifiers) {
      const target = resolveModule(module, specifier);
      const name = packageOf(specifier);
      if (WIRES.has(specifier) && !GUESTS.has(module))
        violations.push(`src/${module} -> ${specifier}: src has this wire of its own`);
      if (target === undefined) {
        if (name !== undefined && !packages.includes(name)) {
          violations.push(`src/${module} -> ${specifier}: ${name} is not a dependency in package.json`);
        }
      } else if (!graph.has(target)) {
        violations.push(`src/${module} -> ${specifier}: not a module of src`);
      } else if (!mayImport(module, target)) {
        violations.push(`src/${module} -> src/${target}: ${layer} may not import ${layerOf(target)}`);
      }
    }
  }
  return [...violations, ...findCircles(graph).map((circle) => `circular import: ${circle}`)];
}

function graphOf(modules: Record<string, string[]>): ImportGraph {
  return new Map(Object.entries(modules));
}

describe('the layers of src', () => {
  it('import only what the table allows, without circles or undeclared packages', () => {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Record<
      'dependencies' | 'peerDependencies',
      Record<string, string> | undefined
    >;
    const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const graph = readImportGraph(fileURLToPath(new URL('../src', import.meta.url)));
    expect(graph.size).toBeGreaterThan(0);
    expect(findViolations(graph, packages)).toEqual([]);
  });
});

describe('the modules of bench', () => {
  it('import each other without circles', () => {
    const graph = readImportGraph(fileURLToPath(new URL('../bench', import.meta.url)));
    expect(graph.size).toBeGreaterThan(0);
    expect(findCircles(graph)).toEqual([]);
  });
});

describe('the check of the layers', () => {
  it.each<[string, Record<string, string[]>, string[]]>([
    [
      'names the offending edge',
      { 'core/model.ts': ['../protocol/http/json.js'], 'protocol/http/json.ts': [] },
      ['src/core/model.ts -> src/protocol/http/json.ts: core may not import protocol'],
    ],
    [
      'keeps the two frontends apart',
      { 'frontend/http/a.ts': ['../grpc/b.js', '../c.js'], 'frontend/grpc/b.ts': [], 'frontend/c.ts': [] },
      ['src/frontend/http/a.ts -> src/frontend/grpc/b.ts: frontend/http may not import frontend/grpc'],
    ],
    [
      'gives link the contract of core and nothing else of it',
      {
        'link/port-instance.ts': ['../core/instance/model-instance.js', '../core/model.js'],
        'core/instance/model-instance.ts': [],
        'core/model.ts': [],
      },
      ['src/link/port-instance.ts -> src/core/model.ts: link may not import core'],
    ],
    [
      'gives gRPC the contracts of HTTP/2, and the server what listens',
      {
        'frontend/grpc/a.ts': ['../../http2/http2-stream.js', '../../http2/http2-server.js'],
        'server/b.ts': ['../http2/http2-server.js'],
        'http2/http2-stream.ts': [],
        'http2/http2-server.ts': [],
      },
      ['src/frontend/grpc/a.ts -> src/http2/http2-server.ts: frontend/grpc may not import http2'],
    ],
    [
      'lets nothing import the entry point',
      { 'cli/main.ts': ['../index.js'], 'index.ts': [] },
      ['src/cli/main.ts -> src/index.ts: cli may not import index'],
    ],
    [
      'refuses the wires of Node, in whose place are its own',
      { 'client/http/http-transport.ts': ['node:http', 'node:net'] },
      ['src/client/http/http-transport.ts -> node:http: src has this wire of its own'],
    ],
    ['refuses a folder without a row', { 'utils/a.ts': [] }, ['src/utils/a.ts: unknown layer utils']],
    [
      'refuses a folder named like an inherited property',
      { 'constructor/a.ts': [] },
      ['src/constructor/a.ts: unknown layer constructor'],
    ],
    [
      'finds circles within a layer',
      { 'core/a.ts': ['./b.js'], 'core/b.ts': ['./c.js'], 'core/c.ts': ['./a.js'] },
      ['circular import: core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts'],
    ],
    [
      'refuses packages that are not dependencies',
      { 'tensor/a.ts': ['node:util', 'known/deep', '@scope/known', 'left-pad', '@scope/left/pad'] },
      [
        'src/tensor/a.ts -> left-pad: left-pad is not a dependency in package.json',
        'src/tensor/a.ts -> @scope/left/pad: @scope/left is not a dependency in package.json',
      ],
    ],
    [
      'refuses what lies outside src or does not exist',
      { 'core/a.ts': ['../../test/b.js', './gone.js'] },
      ['src/core/a.ts -> ../../test/b.js: not a module of src', 'src/core/a.ts -> ./gone.js: not a module of src'],
    ],
    [
      'accepts what the table allows',
      {
        'core/a.ts': ['../model/b.js', '../logger.js'],
        'model/b.ts': ['../errors.js'],
        'errors.ts': [],
        'logger.ts': ['./errors.js'],
      },
      [],
    ],
  ])('%s', (_, modules, expected) => {
    expect(findViolations(graphOf(modules), ['known', '@scope/known'])).toEqual(expected);
  });

  it('reads every form of import and nothing else', () => {
    const source = `
      import './side-effect.js';
      import one from './default.js';
      import two, { type Three } from './both.js';
      import * as four from "./star.js";
      import type { Five } from './type.js';
      import {
        six, // from './comment.js'
        seven,
      } from './lines.js';
      export { eight } from './export.js';
      export * from './export-star.js';
      export * as nine from './export-named-star.js';
      export type { Ten } from './export-type.js';
      const eleven = await import('./dynamic.js');
      type Twelve = import('./type-query.js').Twelve;
      // import { no } from './line-comment.js';
      /** import { no } from './doc-comment.js'; */
      export function text(from: string): string {
        // taken from './prose.js'
        return \`from './template.js'\`;
      }
      export const name = 'from';
    `;
    expect(importsOf(source)).toEqual([
      './side-effect.js',
      './default.js',
      './both.js',
      './star.js',
      './type.js',
      './lines.js',
      './export.js',
      './export-star.js',
      './export-named-star.js',
      './export-type.js',
      './dynamic.js',
      './type-query.js',
    ]);
  });
});
