// The head of a request that came through somebody else's HTTP server.

import { lowerCase } from '../../ascii.js';
import type { HttpRequest, ServeRequest } from '../../http1/http-exchange.js';

export interface MountedHead {
  readonly method: string;
  /** Path and query, without the prefix that the handler is mounted at. */
  readonly target: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** False where a body comes whose length the head does not tell. */
  readonly isMeasured: boolean;
}

export class MountedRequest implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly bodyLength: number | undefined;
  handler: ServeRequest | undefined;

  constructor({ method, target, rawHeaders, isMeasured }: MountedHead) {
    this.method = method;
    this.target = target;
    this.rawHeaders = rawHeaders;
    this.bodyLength = isMeasured ? Number(this.header('content-length') ?? 0) : undefined;
  }

  /** Whether another request has this head. */
  hasHead(method: string, target: string, rawHeaders: readonly string[]): boolean {
    const { rawHeaders: own } = this;
    if (own.length !== rawHeaders.length || this.method !== method || this.target !== target) return false;
    for (let i = 0; i < own.length; i++) if (own[i] !== rawHeaders[i]) return false;
    return true;
  }

  header(name: string): string | undefined {
    const { rawHeaders } = this;
    let value: string | undefined;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const own = rawHeaders[i]!;
      if (own.length !== name.length || lowerCase(own) !== name) continue;
      const line = rawHeaders[i + 1]!;
      value = value === undefined ? line : `${value}${name === 'cookie' ? '; ' : ', '}${line}`;
    }
    return value;
  }
}

/** `name`: in lower case. */
export function hasHeader(rawHeaders: readonly string[], name: string): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === name.length && lowerCase(rawHeaders[i]!) === name) return true;
  }
  return false;
}

/** The target behind the prefix: `/v2` of `/models/v2` behind `/models`. Undefined for a target that lies elsewhere. */
export function behindPrefix(target: string, prefix: string): string | undefined {
  if (prefix === '') return target;
  if (!target.startsWith(prefix)) return undefined;
  const rest = target.slice(prefix.length);
  if (rest === '') return '/';
  return rest.startsWith('/') || rest.startsWith('?') ? rest : undefined;
}
