import { fromBinary, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { Random } from '../../../test/support/random-life/random.js';
import { SEED } from '../../../test/support/seed.js';
import { ModelConfigSchema } from '../../../test/support/generated/model_config_pb.js';
import { ModelConfig } from '../protobuf/generated/model-config.js';
import { message, type MessageType } from '../protobuf/message-type.js';
import { writeMessage } from '../protobuf/write-message.js';
import { readTextFormat } from './read-text-format.js';
import { TextFormatError } from './tokens.js';

/** What the text sets, by the names of proto/. */
function read(text: string): unknown {
  const bytes = writeMessage(ModelConfig, readTextFormat(ModelConfig, text));
  return toJson(ModelConfigSchema, fromBinary(ModelConfigSchema, bytes), { useProtoFieldName: true });
}

interface Scalar {
  readonly value: unknown;
}

/** A message with one field of a kind. */
const wrapper = (kind: string): MessageType<Scalar> => message(kind, `value 1 ${kind}`);

interface Struct {
  readonly fields: Readonly<Record<string, { readonly kind: { readonly case?: string } }>>;
}
const Struct: MessageType<Struct> = message('Struct', 'fields 1 map:string 0', () => [Value]);
const Value: MessageType<object> = message('Value', 'oneof kind\n struct_value 5 0', () => [Struct]);

function refusal(text: string): string {
  try {
    read(text);
  } catch (error) {
    if (error instanceof TextFormatError) return error.message;
    throw error;
  }
  return 'read';
}

describe('readTextFormat', () => {
  it('reads messages, lists, maps and scalars in all their notations', () => {
    const text = `
      name: "two" ' parts' # a comment
      max_batch_size : 0x10;
      input [ { name: "x" data_type: TYPE_FP32, dims: [ 3, -1 ] }, < name: 'y' data_type: 9 dims: 010 dims: 1 > ]
      input: { name: "z", optional: t }
      version_policy { specific { versions: [1, 3] } }
      parameters { key: "a" value { string_value: "\\303\\244\\n" } }
      metric_tags [ { key: "b" value: "c" }, { key: "b" value: "d" } ]`;
    expect(read(text)).toEqual({
      name: 'two parts',
      max_batch_size: 16,
      input: [
        { name: 'x', data_type: 'TYPE_FP32', dims: ['3', '-1'] },
        { name: 'y', data_type: 'TYPE_INT64', dims: ['8', '1'] },
        { name: 'z', optional: true },
      ],
      version_policy: { specific: { versions: ['1', '3'] } },
      parameters: { a: { string_value: 'ä\n' } },
      metric_tags: { b: 'd' },
    });
  });

  // As they stand in public model repositories.
  it.each<[string, string, object]>([
    ['commas after every member', 'input [ { name: "a", dims: [-1], }, { name: "b", } ]', { input: [{ name: 'a', dims: ['-1'] }, { name: 'b' }] }],
    ['a colon before a list of messages', 'instance_group: [{ kind: KIND_CPU }]', { instance_group: [{ kind: 'KIND_CPU' }] }],
    ['no space anywhere', "parameters[{key:'a'value:{string_value:''}},{key:'b'value:{string_value:'1'}}]", { parameters: { a: {}, b: { string_value: '1' } } }],
    ['a list in parts', 'output [ { name: "a" } ]\r\noutput [ { name: "b" } ]\r\n', { output: [{ name: 'a' }, { name: 'b' }] }],
    ['a scalar for a list', 'dynamic_batching { preferred_batch_size: 4 }', { dynamic_batching: { preferred_batch_size: [4] } }],
    ['empty lists and messages', 'input { name: "a" reshape: { shape: [ ] } } dynamic_batching: {\n}', { input: [{ name: 'a', reshape: {} }], dynamic_batching: {} }],
    ['True', 'model_transaction_policy {\n decoupled: True\n}', { model_transaction_policy: { decoupled: true } }],
    ['a message on several lines behind a colon', 'version_policy:\n{\n\tlatest { num_versions: 2 }\n}', { version_policy: { latest: { num_versions: 2 } } }],
    ['the largest integer', 'dynamic_batching { priority_levels: 18446744073709551615 }', { dynamic_batching: { priority_levels: '18446744073709551615' } }],
    ['comments where there could be a member', 'input [\n # one\n { name: "a#" # two\n }\n # three\n]\n# four', { input: [{ name: 'a#' }] }],
    ['maps member by member', 'ensemble_scheduling { step [ { input_map { key: "a", value: "b" }, input_map { key: "c" value: "d" } } ] }', { ensemble_scheduling: { step: [{ input_map: { a: 'b', c: 'd' } }] } }],
  ])('reads %s', (_, text, config) => {
    expect(read(text)).toEqual(config);
  }); // prettier-ignore

  it.each([
    ['max_batch_size: ${size}', '1:17: the character "$" stands outside of strings and comments'],
    [
      'name: "a"\nmax_batchsize: 8',
      '2:1: Message type "inference.ModelConfig" has no field named "max_batchsize"; did you mean "max_batch_size"?',
    ],
    [
      'input [ {}, { dimms: 1 } ]',
      '1:15: Message type "inference.ModelInput" has no field named "dimms" of input[1]; did you mean "dims"?',
    ],
    [
      'input {\n  data_type: TYPE_FLOAT32\n}',
      '2:14: Unknown enumeration value of "TYPE_FLOAT32" for field input[0].data_type; expected one of TYPE_INVALID, TYPE_BOOL, TYPE_UINT8, TYPE_UINT16, TYPE_UINT32, TYPE_UINT64, TYPE_INT8, TYPE_INT16, TYPE_INT32, TYPE_INT64, TYPE_FP16, TYPE_FP32, TYPE_FP64, TYPE_STRING, TYPE_BF16',
    ],
    ['input { data_type: 99 }', '1:20: Unknown enumeration value of "99" for field input[0].data_type'],
    ['max_batch_size 8', '1:16: expected ":" after max_batch_size, got "8"'],
    ['max_batch_size: "8"', '1:17: expected an integer for max_batch_size, got the string "8"'],
    [
      'max_batch_size: 2147483648',
      '1:17: Integer out of range for max_batch_size: expected -2147483648 to 2147483647, got 2147483648',
    ],
    ['max_batch_size: [8]', '1:17: max_batch_size has one value, got a list'],
    ['name: "a" name: "b"', '1:11: Non-repeated field "name" is specified multiple times'],
    [
      'dynamic_batching {}\n sequence_batching {}',
      '2:2: Field "sequence_batching" is specified along with field "dynamic_batching", another member of oneof "scheduling_choice"',
    ],
    ['input { dims: [ 1, 2, ] }', '1:23: expected an integer for input[0].dims[2], got "]"'],
    ['input { name: "a"', '1:18: expected } or a field of input[0], got the end of the text'],
    ['input { name: "a" >', '1:19: expected the name of a field of input[0], got ">"'],
    ['input ( )', '1:7: the character "(" stands outside of strings and comments'],
    ['name: "a', '1:7: the string has no end on its line'],
    ['name: "\\q"', '1:8: "\\\\q" is no escape sequence'],
    ['name: "\\377"', '1:7: the bytes of name are not UTF-8'],
    ['max_batch_size: 08', '1:17: "08" is no number'],
    ['response_cache { enable: yes }', '1:26: expected true or false for response_cache.enable, got "yes"'],
    ['[my.extension]: 1', '1:1: extensions and Any are not supported, got [my.extension]'],
    ['parameters { key: "a" key: "b" }', '1:23: an entry of parameters has its key twice'],
    ['parameters { name: "a" }', '1:14: expected }, "key" or "value" of parameters, got "name"'],
  ])('refuses %j', (text, message) => {
    expect(refusal(text)).toBe(message);
  });

  it('limits how deep messages lie in each other', () => {
    const nested = (depth: number) =>
      `${'fields { key: "a" value < struct_value {'.repeat(depth)} ${'} > }'.repeat(depth)}`;
    expect(() => readTextFormat(Struct, nested(33))).not.toThrow();
    expect(() => readTextFormat(Struct, nested(34))).toThrow('messages lie in each other more than 100 deep');
    expect(() => readTextFormat(Struct, nested(100_000))).toThrow('1:1328: messages lie in each other');
  });

  it('refuses a text that ends anywhere, or has anything in it, with a place inside of it', () => {
    const whole = `name: "a\\n" 'b' input [ { dims: [ 1, -1 ] data_type: TYPE_FP32 }, < optional: true > ] # end
      model_metrics { metric_control { histogram_options { buckets: [ .5f, inf, 1e3 ] } } } metric_tags { key: "k", value: "v" }`;
    const random = new Random(SEED);
    const characters = [...'{}<>[]:;,-.#"\'\\ \n\0aé0x1_'.split(''), 'name', '😀'];
    const places: number[] = [];
    for (let run = 0; run < 4000; run++) {
      const at = random.integer(0, whole.length - 1);
      const length = random.integer(0, 3);
      const added = run % 3 === 0 ? '' : random.of(characters);
      const text = run % 5 === 0 ? whole.slice(0, at) : whole.slice(0, at) + added + whole.slice(at + length);
      const [, line, column] = /^(\d+):(\d+): /.exec(refusal(text)) ?? [];
      if (line === undefined) continue;
      const found = text.split('\n')[Number(line) - 1]!;
      places.push(found.length + 1 - Number(column));
    }
    expect(places.length).toBeGreaterThan(1000);
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
  });
});

describe('escape sequences', () => {
  const name = (escaped: string) => (read(`name: "${escaped}"`) as { readonly name: string }).name;

  it.each([
    ['\\a\\b\\f\\n\\r\\t\\v', '\x07\b\f\n\r\t\v'],
    ['\\\\ \\\' \\" \\?', '\\ \' " ?'],
    ['\\101\\60\\7x', 'A0\x07x'],
    ['\\x41\\X4a\\x9g', 'AJ\tg'],
    ['\\xc3\\xa4', 'ä'],
    ['\\u00e4\\u20AC\\U0001f600\\U0010FFFF', 'ä€😀\u{10ffff}'],
    ['\\ud83d\\ude00!', '😀!'],
    ['\\ud800\\udc00\\udbff\\udfff', '\u{10000}\u{10ffff}'],
    ['\\ud7ff\\ue000', '\ud7ff\ue000'],
  ])('are read: %j', (escaped, text) => {
    expect(name(escaped)).toBe(text);
  });

  it.each([
    ['\\400', 'an octal escape sequence is above \\377'],
    ['\\ud83d', 'an escape sequence stands for half of a character'],
    ['\\ud83dx', 'an escape sequence stands for half of a character'],
    ['\\ud83d\\n', 'an escape sequence stands for half of a character'],
    ['\\ud83d\\u0041', 'an escape sequence stands for half of a character'],
    ['\\ud83d\\ue000', 'an escape sequence stands for half of a character'],
    ['\\ude00\\ud83d', 'an escape sequence stands for half of a character'],
    ['\\udc00\\udc00', 'an escape sequence stands for half of a character'],
    ['\\U00110000', 'an escape sequence stands for no character'],
    ['\\u12', '"\\\\u" is no escape sequence'],
    ['\\8', '"\\\\8" is no escape sequence'],
  ])('are refused with their place: %j', (escaped, what) => {
    expect(refusal(`max_batch_size: 1\nname: "a${escaped}"`)).toBe(`2:9: ${what}`);
  });
});

describe('values of every type', () => {
  it.each([
    ['bytes', 'value: "\\377" "a"', { value: Buffer.of(255, 97) }],
    ['float', 'value: .1', { value: Math.fround(0.1) }],
    ['float', 'value: -inf', { value: -Infinity }],
    ['double', 'value: 1e2f', { value: 100 }],
    ['double', 'value: nan', { value: NaN }],
    ['double', 'value: -Infinity', { value: -Infinity }],
    ['bool', 'value: f', { value: false }],
    ['bool', 'value: False', { value: false }],
    ['bool', 'value: 0x0', { value: false }],
    ['bool', 'value: True', { value: true }],
    ['bool', 'value: 01', { value: true }],
    ['int64', 'value: -9223372036854775808', { value: -(2n ** 63n) }],
    ['uint64', 'value: 18446744073709551615', { value: 2n ** 64n - 1n }],
    ['uint32', 'value: 0xffffffff', { value: 4294967295 }],
  ])('%s: %s', (kind, text, value) => {
    expect(readTextFormat(wrapper(kind), text)).toMatchObject(value);
  });

  it.each([
    ['double', 'value: 010', '1:8: expected a number for value, got "010"'],
    ['double', 'value: 0x10', '1:8: expected a number for value, got "0x10"'],
    ['double', 'value: infinit', '1:8: expected a number for value, got "infinit"'],
    ['bool', 'value: 2', '1:8: expected true or false for value, got "2"'],
    ['bool', 'value: "true"', '1:8: expected true or false for value, got the string "true"'],
    ['int64', 'value: 9223372036854775808', '1:8: Integer out of range for value: expected -9223372036854775808 to 9223372036854775807, got 9223372036854775808'],
    ['uint64', 'value: -1', '1:8: Integer out of range for value: expected 0 to 18446744073709551615, got -1'],
    ['uint32', 'value: 4294967296', '1:8: Integer out of range for value: expected 0 to 4294967295, got 4294967296'],
  ])('%s refuses %s', (kind, text, refused) => {
    expect(() => readTextFormat(wrapper(kind), text)).toThrow(refused);
  }); // prettier-ignore

  it('an entry of a map without a value has the empty one', () => {
    expect(read('metric_tags { key: "a" } parameters { key: "b" }')).toEqual({
      metric_tags: { a: '' },
      parameters: { b: {} },
    });
    expect(readTextFormat(Struct, 'fields { key: "a" }').fields['a']).toMatchObject({
      kind: { case: undefined },
    });
  });
});
