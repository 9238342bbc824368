// Headers of HTTP requests and metadata of gRPC calls that become request parameters: those whose name matches the
// operator's pattern. Patterns are RE2's in Triton; here they are read by the language's own expressions, so that one
// that backtracks without end is the operator's own doing.

import { invalidArg } from '../errors.js';
import type { Parameters } from '../model/parameters.js';

/** Names that mean something to the server, and that no header may speak for. */
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

  /** Throws INVALID_ARG for a pattern that cannot be read; `option` names where it came from. */
  constructor(pattern: string, option: string) {
    this.#pattern = compile(pattern, option);
  }

  /**
   * The parameters with the matching headers among them, under their names as they came; a header takes the place of
   * a parameter of its name. `headers` is a flat list of names and values. Throws INVALID_ARG for a reserved name.
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
  // Whether a repetition is greedy makes no difference to whether there is a match.
  flags.delete('U');
  // RE2 lets any punctuation be escaped, strict expressions only what needs it. Strict ones tell what they do not know.
  const source = rest.replace(/\\([!-/:-@[-`{-~])/g, (_, char: string) => `\\x${char.charCodeAt(0).toString(16)}`);
  try {
    return new RegExp(source, `u${[...flags].join('')}`);
  } catch (error) {
    throw invalidArg(
      `${option} must be a regular expression, got ${JSON.stringify(pattern)}: ${(error as Error).message}`,
    );
  }
}
