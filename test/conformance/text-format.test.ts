// config.pbtxt is read as Python's protobuf library reads it: cases/text-format/record.py has recorded its answers.
import { readFileSync } from 'node:fs';
import { fromBinary, fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ModelConfigSchema } from '../support/generated/model_config_pb.js';
import { ModelConfig } from '../../src/protocol/protobuf/generated/model-config.js';
import { writeMessage } from '../../src/protocol/protobuf/write-message.js';
import { readTextFormat } from '../../src/protocol/text-format/read-text-format.js';
import { TextFormatError } from '../../src/protocol/text-format/tokens.js';

interface Recorded {
  readonly text: string;
  /** null where the text was refused. */
  readonly message: JsonValue;
}

const recorded = readFileSync(new URL('cases/text-format/recorded.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);

/** Where this reader goes with Triton's, which is C++, or refuses what no configuration can mean. */
const bucket = (number: string) => `model_metrics { metric_control { histogram_options { buckets: ${number} } } }`;
const DIFFERENCES: readonly { readonly why: string; readonly texts: readonly string[] }[] = [
  { why: 'Python keeps escape sequences that there are not as they are', texts: ['name: "\\q"'] },
  {
    why: 'Python lacks the escape sequence \\?',
    texts: ['name: "\\a\\b\\f\\n\\r\\t\\v\\?\\\\\\\'\\""'],
  },
  { why: 'Python does not put surrogates together', texts: ['name: "\\ud83d\\ude00"'] },
  { why: 'a file with U+0000 ends there in C++', texts: ['name: "\0"'] },
  { why: 'space may follow a minus sign', texts: ['max_batch_size: - 8', bucket('- 1.5')] },
  {
    why: 'Python reads numbers as its own',
    texts: ['max_batch_size: +8', bucket('1ff'), bucket('1_000'), bucket('010')],
  },
  { why: 'F may end a number as f does', texts: [bucket('1F'), bucket('1e5F'), minimum('.5F')] },
  { why: 'the integers for booleans may be of any base', texts: ['input { optional: 0x1 }', 'input { optional: 01 }'] },
  { why: 'no configuration means a datatype that there is not', texts: ['input { data_type: -1 }'] },
];

function minimum(number: string): string {
  return `sequence_batching { direct { minimum_slot_utilization: ${number} } }`;
}

function ours(text: string): JsonValue {
  try {
    return toJson(
      ModelConfigSchema,
      fromBinary(ModelConfigSchema, writeMessage(ModelConfig, readTextFormat(ModelConfig, text))),
    );
  } catch (error) {
    if (error instanceof TextFormatError) return null;
    throw error;
  }
}

describe('the text format', () => {
  it('is read as by Python, but for the differences that are listed', () => {
    const known = DIFFERENCES.flatMap(({ texts }) => texts);
    const differing = recorded.filter(({ text, message }) => {
      const expected = message === null ? null : toJson(ModelConfigSchema, fromJson(ModelConfigSchema, message));
      return JSON.stringify(ours(text)) !== JSON.stringify(expected);
    });
    expect(differing.filter(({ text }) => !known.includes(text))).toEqual([]);
    // None of them is listed for nothing.
    expect(known.filter((text) => !differing.some((other) => other.text === text))).toEqual([]);
    expect(recorded.filter(({ message }) => message !== null).length).toBeGreaterThan(140);
  });
});
