// Serves the page that people open in a browser, and what it asks for beside the protocol, on the port of Triton's protocol. The
// page's files are loaded by the first request for one of them, and stay in memory. A page holds no secrets. What it asks for does,
// so the same headers are wanted as for the protocol's endpoints of the same categories.

import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

import { listElements } from '../../ascii.js';
import type { HttpExchange, HttpHeaders, HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import { answerCoding } from '../../protocol/http/content-coding.js';
import { answerError, answerJson, answerLater } from '../http/answers.js';
import type { FurtherPaths } from '../http/further-paths.js';
import { pathOf } from '../http/routes.js';
import { type Category, RestrictedFeatures, type Restriction } from '../restricted-features.js';
import type { Later, ServedCore } from '../served-core.js';
import type { LogTail } from './log-tail.js';
import { describeModels, measureFigures } from './page-descriptions.js';

export interface PageServiceOptions {
  readonly server: ServedCore;
  /** The endpoints that require a header. Default: none. */
  readonly restrictions?: readonly Restriction[] | undefined;
  /** The real port of gRPC; undefined where it is off. */
  readonly grpcPort: () => number | undefined;
  readonly log: LogTail;
  /** By path: each file in base64 of its gzip. Default: the files of the build. */
  readonly files?: () => Promise<Readonly<Record<string, string>>>;
}

/** A file that can be sent. */
interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly gzipped: Buffer;
  /** Made for the first client that takes no gzip. */
  plain: Buffer | undefined;
}

/** What the page is made of, and its types. */
const TYPES: Readonly<Record<string, string>> = {
  '/': 'text/html; charset=utf-8',
  '/page/page.js': 'text/javascript; charset=utf-8',
  '/page/page.css': 'text/css; charset=utf-8',
};

/**
 * The page's scripts, styles and requests come from here alone. It may show images and sounds that it was given, and pages of others
 * may not show it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data: blob:',
  'media-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS: HttpHeaders = [
  'Content-Security-Policy', POLICY,
  'X-Content-Type-Options', 'nosniff',
  'X-Frame-Options', 'DENY',
  'Referrer-Policy', 'no-referrer',
  'Cross-Origin-Resource-Policy', 'same-origin',
  'Cross-Origin-Opener-Policy', 'same-origin',
  'Permissions-Policy', 'camera=(self), microphone=(self)',
  // A new version of the server is a new page.
  'Cache-Control', 'no-cache',
  'Vary', 'Accept-Encoding',
]; // prettier-ignore

interface Answer {
  readonly categories: readonly Category[];
  readonly make: (options: PageServiceOptions, asked: Asked) => Later<object>;
}

interface Asked {
  readonly query: URLSearchParams;
  /** Whether the client has the header that these endpoints want. */
  readonly mayUse: (category: Category) => boolean;
}

const ANSWERS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  [
    '/page/models',
    {
      categories: ['metadata', 'model-config'],
      make: ({ server, grpcPort }, { mayUse }) =>
        describeModels(server, grpcPort(), { reasons: mayUse('model-repository') }),
    },
  ],
  ['/page/figures', { categories: ['statistics'], make: ({ server }) => measureFigures(server) }],
  ['/page/log', { categories: ['logging'], make: ({ log }, { query }) => log.after(Number(query.get('after')) || 0) }],
]);

export class PageService implements FurtherPaths {
  readonly #options: PageServiceOptions;
  readonly #restricted: RestrictedFeatures;
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  constructor(options: PageServiceOptions) {
    this.#options = options;
    this.#restricted = new RestrictedFeatures(options.restrictions ?? []);
  }

  /** Methods that the page does not use are for the routes of models, or for nobody. */
  handler(request: HttpRequest): ServeRequest | undefined {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    const path = pathOf(request.target);
    const answer = ANSWERS.get(path);
    if (answer !== undefined) return this.#answer(request, answer);
    const type = Object.hasOwn(TYPES, path) ? TYPES[path] : undefined;
    return type === undefined ? undefined : (exchange) => void this.#sendFile(exchange, path);
  }

  #answer(request: HttpRequest, { categories, make }: Answer): ServeRequest {
    const missingFor = (category: Category) => this.#restricted.missing(category, (name) => request.header(name));
    for (const category of categories) {
      const missing = missingFor(category);
      if (missing === undefined) continue;
      const refusal = { error: `This API is restricted, expecting header '${missing}'` };
      return (exchange) => answerJson(exchange, 403, refusal);
    }
    const query = new URLSearchParams(request.target.split('?')[1]);
    const mayUse = (category: Category) => missingFor(category) === undefined;
    return (exchange) => answerLater(exchange, make(this.#options, { query, mayUse }));
  }

  async #sendFile(exchange: HttpExchange, path: string): Promise<void> {
    try {
      const file = (await (this.#files ??= this.#load())).get(path);
      if (file === undefined) answerJson(exchange, 404, { error: 'the page is not built' });
      else send(exchange, file);
    } catch (error) {
      answerError(exchange, error);
    }
  }

  async #load(): Promise<ReadonlyMap<string, PageFile>> {
    const { files = builtFiles } = this.#options;
    return new Map(
      Object.entries(await files()).map(([path, base64]) => {
        const gzipped = Buffer.from(base64, 'base64');
        const etag = `"${createHash('sha256').update(gzipped).digest('base64url').slice(0, 22)}"`;
        return [path, { type: TYPES[path]!, etag, gzipped, plain: undefined }];
      }),
    );
  }
}

async function builtFiles(): Promise<Readonly<Record<string, string>>> {
  return (await import('./page-files.js')).PAGE_FILES;
}

function send(exchange: HttpExchange, file: PageFile): void {
  const isGzip = answerCoding(exchange.request.header('accept-encoding')) === 'gzip';
  // The two codings of a file are two representations of it.
  const etag = isGzip ? file.etag : file.etag.replace(/"$/, '-plain"');
  const headers = ['ETag', etag, ...HEADERS];
  if (matches(exchange.request.header('if-none-match'), etag)) {
    exchange.respond(304, headers, []);
    return;
  }
  const body = isGzip ? file.gzipped : (file.plain ??= gunzipSync(file.gzipped));
  const coding = isGzip ? ['Content-Encoding', 'gzip'] : [];
  exchange.respond(
    200,
    ['Content-Type', file.type, 'Content-Length', String(body.length), ...coding, ...headers],
    [body],
  );
}

/** Whether a client has this version already (RFC 9110, section 13.1.2). */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return listElements(header).some((one) => one === '*' || one === etag || one === `W/${etag}`);
}
