// Turns headers of HTTP requests and metadata of gRPC calls into request parameters, if their name matches the operator's
// pattern. Triton reads patterns with RE2. JavaScript's own expressions read them here, so the operator must not give one that
// backtracks without end.

import { invalidArg } from '../errors.js';
import type { Parameters } from '../model/parameters.js';

/** Parameters with a meaning to the server, which no header may set. */
const RESERVED: ReadonlySet<string> = new Set([
  'sequence_id',
  'sequence_start',
  'sequence_end',
  'priority',
  'timeout',
  'headers',
  'binary_data_output',
]);

export class HeaderForwarding {
  readonly #pattern: RegExp;

  /** Throws INVALID_ARG for an invalid pattern. `option` is the name of its option. */
  constructor(pattern: string, option: string) {
    this.#pattern = compile(pattern, option);
  }

  /**
   * The parameters together with the matching headers, under unchanged names; a header replaces a parameter of its
   * name. `headers` is a flat list of names and values. Throws INVALID_ARG for a reserved name.
   */
  forward(headers: readonly string[], parameters: Parameters | undefined): Parameters | undefined {
    let forwarded: Map<string, string> | undefined;
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i]!;
      if (!this.#pattern.test(name)) continue;
      if (RESERVED.has(name) || name.startsWith('triton_')) {
        throw invalidArg(`Header '${name}' is reserved for Triton usage and cannot be forwarded.`);
      }
      forwarded ??= new Map();
      const before = forwarded.get(name);
      // Lines of one name are one list (RFC 9110, section 5.3).
      forwarded.set(name, before === undefined ? headers[i + 1]! : `${before}, ${headers[i + 1]!}`);
    }
    if (forwarded === undefined) return parameters;
    // Without a prototype: a header may be called anything, __proto__ too.
    return Object.assign(Object.create(null), parameters, Object.fromEntries(forwarded)) as Parameters;
  }
}

const FLAGS = /^\(\?([imsU]*)(?:-([imsU]+))?\)/;

/** As Triton does, case is ignored unless the pattern begins with `(?-i)`. */
function compile(pattern: string, option: string): RegExp {
  const flags = new Set(['i']);
  let rest = pattern;
  for (let group = FLAGS.exec(rest); group !== null && group[0] !== '(?)'; group = FLAGS.exec(rest)) {
    for (const flag of group[1]!) flags.add(flag);
    for (const flag of group[2] ?? '') flags.delete(flag);
    rest = rest.slice(group[0].length);
  }
  // Greedy and lazy repetitions match the same texts.
  flags.delete('U');
  // RE2 allows any punctuation to be escaped, strict expressions only characters that need it. Strict ones report
  // unknown syntax.
  const source = rest.replace(/\\([!-/:-@[-`{-~])/g, (_, char: string) => `\\x${char.charCodeAt(0).toString(16)}`);
  try {
    return new RegExp(source, `u${[...flags].join('')}`);
  } catch (error) {
    throw invalidArg(
      `${option} must be a regular expression, got ${JSON.stringify(pattern)}: ${(error as Error).message}`,
    );
  }
}
