// src/ascii.ts alone trims, lower-cases and reads numbers in text of the wire. The functions of the language work by
// Unicode: `\xa0chunked` was `chunked` once. A module that needs them on other text gives its reason here.
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { sourcesBelow } from './support/import-graph.js';

/** Where bytes of clients and servers are read. */
const OF_THE_WIRE = /^(?:client|core|frontend|http1|http2|protocol|sockets)\/|^observability\/traces\.ts$/;
const BY_UNICODE = /\.trim(?:Start|End)?\(|\.to(?:Locale)?(?:Lower|Upper)Case\(|\bparse(?:Int|Float)\(|\\s/;
const COMMENT = /^\s*(?:\/\/|\/?\*)/;

/** Each with the number of its lines and the reason. */
const OTHER_TEXT: Readonly<Record<string, readonly [lines: number, reason: string]>> = {
  'client/http/http-error.ts': [1, 'a text for people'],
  'client/parse-url.ts': [1, 'what the user wrote'],
  'frontend/metrics/cpu-meter.ts': [1, "the kernel's own text"],
  'observability/traces.ts': [1, 'two hexadecimal digits'],
  'protocol/grpc/grpc-status.ts': [1, 'two hexadecimal digits'],
  'protocol/json/json-writer.ts': [2, 'hexadecimal digits that it has made'],
  'protocol/protobuf/message-type.ts': [3, 'tables of our own'],
  'protocol/text-format/tokens.ts': [4, 'digits that an expression has found'],
  'sockets/connection-limit.ts': [1, "the kernel's own text"],
};

/** The lines that are no comments and use one of those functions. */
function linesByUnicode(source: string): string[] {
  return source.split('\n').filter((line) => BY_UNICODE.test(line) && !COMMENT.test(line));
}

describe('text of the wire', () => {
  it('is read by the rules of ASCII', () => {
    const found: Record<string, number> = {};
    for (const [module, source] of sourcesBelow(fileURLToPath(new URL('../src', import.meta.url)))) {
      const lines = OF_THE_WIRE.test(module) ? linesByUnicode(source).length : 0;
      if (lines > 0) found[module] = lines;
    }
    expect(found).toEqual(Object.fromEntries(Object.entries(OTHER_TEXT).map(([module, [lines]]) => [module, lines])));
  });

  it.each([
    ['const a = b.trim();', 1],
    ["if (name.toLowerCase() === 'chunked') return;", 1],
    ['const [size] = text.split(/\\s+/);', 1],
    ['const size = Number.parseInt(text, 16);', 1],
    ['// What trim() strips.\n  /** As `parseInt(text)`. */\n   * toLowerCase()', 0],
    ['const a = trimBlanks(lowerCase(b));', 0],
  ])('is looked for in %j', (source, lines) => {
    expect(linesByUnicode(source)).toHaveLength(lines);
  });
});
