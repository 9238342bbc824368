import { describe, expect, it } from 'vitest';

import * as wire from '../../bench/identity-wire.js';
import { lengthDelimited, packedIntegers, readFields } from '../../bench/protobuf-bytes.js';
import { IDS, REQUESTS } from '../../bench/tensor-wire.js';

describe('the identity workload', () => {
  it('accepts the answers that the floors give', () => {
    expect(() => wire.checkJsonAnswer(wire.jsonAnswer, 0)).not.toThrow();
    expect(() => wire.checkBinaryAnswer(wire.binaryAnswer, 0)).not.toThrow();
  });

  it('refuses an answer with another number, name or model', () => {
    const edited = (from: string, to: string): { readonly body: Buffer } => {
      return { body: Buffer.from(wire.jsonAnswer.body.toString().replace(from, to)) };
    };
    expect(() => wire.checkJsonAnswer(edited('3.25', '3.5'), 0)).toThrow('wrong answer: the data of c and d');
    expect(() => wire.checkJsonAnswer(edited('"c"', '"a"'), 0)).toThrow('wrong answer: the list of outputs');
    expect(() => wire.checkJsonAnswer(edited('Identity', 'Other'), 0)).toThrow('wrong answer: model_name');
  });

  it('sends requests of one length that differ, and refuses an answer to another one', () => {
    for (const forms of [wire.jsonRequests, wire.binaryRequests]) {
      expect(new Set(forms.map(({ body }) => body.toString('latin1'))).size).toBe(REQUESTS);
      expect(new Set(forms.map(({ body }) => body.length)).size).toBe(1);
    }
    expect(new Set(wire.grpcRequests.map((message) => message.length)).size).toBe(1);
    expect(() => wire.checkJsonAnswer(wire.jsonAnswer, 1)).toThrow('wrong answer: id');
    expect(() => wire.checkBinaryAnswer(wire.binaryAnswer, 1)).toThrow('wrong answer: id');
  });

  it('refuses a binary answer whose tensors changed places', () => {
    const { body, headers } = wire.binaryAnswer;
    const headerLength = Number(headers['inference-header-content-length']);
    const half = headerLength + 64;
    const swapped = Buffer.concat([
      body.subarray(0, headerLength),
      body.subarray(half),
      body.subarray(headerLength, half),
    ]);
    expect(() => wire.checkBinaryAnswer({ headers, body: swapped }, 0)).toThrow('wrong answer: the binary data');
  });

  it('checks a ModelInferResponse by its fields', () => {
    const raw = readFields(wire.grpcRequests[0]!).filter(({ number }) => number === 7);
    const tensor = (name: string): Buffer =>
      lengthDelimited(
        5,
        Buffer.concat([lengthDelimited(1, name), lengthDelimited(2, 'FP32'), packedIntegers(3, [1, 16])]),
      );
    const contents = raw.map(({ value }) => lengthDelimited(6, value as Buffer));
    const head = ['Identity', '1', IDS[0]!].map((text, i) => lengthDelimited(i + 1, text));
    const outputs = [...head, tensor('c'), tensor('d')];
    expect(() => wire.checkGrpcAnswer(Buffer.concat([...outputs, ...contents]), 0)).not.toThrow();
    expect(() => wire.checkGrpcAnswer(Buffer.concat([...outputs, contents[1]!, contents[0]!]), 0)).toThrow(
      'raw_output_contents',
    );
    expect(() => wire.checkGrpcAnswer(wire.grpcRequests[0]!, 0)).toThrow('wrong answer');
  });

  it('builds protobuf as the format wants it', () => {
    expect([...lengthDelimited(1, 'ab')]).toEqual([10, 2, 97, 98]);
    expect([...packedIntegers(3, [1, 300])]).toEqual([26, 3, 1, 172, 2]);
    expect(readFields(Buffer.of(8, 172, 2, 18, 1, 7))).toEqual([
      { number: 1, value: 300 },
      { number: 2, value: Buffer.of(7) },
    ]);
    expect(() => readFields(Buffer.of(10, 5, 1))).toThrow('field 1 ends at byte 7 of a message of 3');
  });
});
