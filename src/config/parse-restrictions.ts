// Reads the options that restrict endpoints into one table per protocol: Triton's `api[,api…]:key=value`, and
// PyTriton's access token, which guards a list of endpoints on both protocols.

import { randomBytes } from 'node:crypto';

import { invalidArg } from '../errors.js';
import { CATEGORIES, type Category, type Restriction } from '../frontend/restricted-features.js';

/** The header of the access token; over gRPC with Triton's prefix. */
const ACCESS_TOKEN_KEY = 'triton-access-token';

/** What the access token guards when nothing else is said. */
const DEFAULT_RESTRICTED_ENDPOINTS: readonly Category[] = ['shared-memory', 'model-repository', 'trace', 'logging'];

export interface RestrictionOptions {
  readonly accessToken: string | undefined;
  /** Guards the binding of remote models; may have the same characters as `accessToken`. */
  readonly remoteAccessToken?: string | undefined;
  readonly restrictedEndpoints: readonly string[] | undefined;
  readonly httpRestrictedApi: readonly string[] | undefined;
  readonly grpcRestrictedProtocol: readonly string[] | undefined;
}

export interface Restrictions {
  readonly http: readonly Restriction[];
  readonly grpc: readonly Restriction[];
  /** What clients send; undefined when the token guards nothing. */
  readonly accessToken: string | undefined;
}

/** Throws INVALID_ARG naming the option. An API with a rule of its own is not guarded by the default access token too. */
export function parseRestrictions(options: RestrictionOptions): Restrictions {
  const { restrictedEndpoints = DEFAULT_RESTRICTED_ENDPOINTS, accessToken } = options;
  if (accessToken !== undefined) checkHeaderValue(accessToken, 'accessToken');
  const { remoteAccessToken } = options;
  if (remoteAccessToken !== undefined) checkHeaderValue(remoteAccessToken, 'remoteAccessToken');
  const endpoints = [...new Set(restrictedEndpoints.map((name) => category(name, 'restrictedEndpoints')))];
  const http = parseGroups(options.httpRestrictedApi, 'httpRestrictedApi');
  const grpc = parseGroups(options.grpcRestrictedProtocol, 'grpcRestrictedProtocol');
  if (options.restrictedEndpoints !== undefined) {
    for (const [option, groups] of Object.entries({ httpRestrictedApi: http, grpcRestrictedProtocol: grpc })) {
      const both = endpoints.find((name) => groups.some(({ categories }) => categories.includes(name)));
      if (both !== undefined) {
        throw invalidArg(`'${both}' is in restrictedEndpoints and in ${option}, expected each in one group only`);
      }
    }
  }
  if (endpoints.length === 0) return { http, grpc, accessToken: undefined };
  const token = accessToken ?? randomBytes(32).toString('base64url');
  return {
    http: [...http, guardedBy(token, endpoints, http)],
    grpc: [...grpc, guardedBy(token, endpoints, grpc)],
    accessToken: token,
  };
}

function guardedBy(value: string, endpoints: readonly Category[], groups: readonly Restriction[]): Restriction {
  const taken = new Set(groups.flatMap(({ categories }) => categories));
  return { categories: endpoints.filter((name) => !taken.has(name)), key: ACCESS_TOKEN_KEY, value };
}

function parseGroups(texts: readonly string[] = [], option: string): Restriction[] {
  const seen = new Set<Category>();
  return texts.map((text) => {
    const match = /^([^:]*):([^=]+)=(.+)$/s.exec(text);
    if (match === null) {
      // Its value is a secret wherever it stands, and errors are logged.
      const known = text.replace(/([:=]).+/s, '$1…');
      throw invalidArg(`${option} must be like 'api,api:key=value', got '${known}'`);
    }
    const [, names = '', key = '', value = ''] = match;
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(key)) {
      throw invalidArg(`${option} needs a key that can be the name of a header, got '${key}'`);
    }
    checkHeaderValue(value, `the value of '${key}' in ${option}`);
    const categories = names.split(',').map((name) => category(name, option));
    for (const name of categories) {
      if (seen.has(name)) {
        throw invalidArg(`${option} names '${name}' twice, expected each in one group only`);
      }
      seen.add(name);
    }
    return { categories, key, value };
  });
}

// What a header cannot carry could never be sent.
function checkHeaderValue(value: string, what: string): void {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) return;
  const got = value === '' ? "''" : 'other characters';
  throw invalidArg(`${what} must be a non-empty string of visible ASCII characters, got ${got}`);
}

function category(name: string, option: string): Category {
  const found = CATEGORIES.find((known) => known === name);
  if (found !== undefined) return found;
  throw invalidArg(`${option} names an unknown API '${name}', expected some of ${CATEGORIES.join(', ')}`);
}
