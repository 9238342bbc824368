import { describe, expect, it } from 'vitest';

import { imageLayout, pixelValues } from './image-tensor.js';
import { bestScores, imageType, isScores } from './outputs.js';
import { parameterOf } from './parameters.js';
import { nextSequence, sequenceParameters } from './sequence.js';
import { mono } from './sound-tensor.js';
import { StreamText } from './stream-text.js';
import { duration, rate } from './texts.js';

describe('outputs', () => {
  it('are scores when they are the probabilities of classes', () => {
    expect([[0.2, 0.8], [0, 0], [1.2, -0.2], [1], [0.5, NaN]].map(isScores)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  it('are ordered by score, NaN last', () => {
    expect(bestScores([1, NaN, 3, 3], 3)).toEqual([{ index: 2, score: 3 }, { index: 3, score: 3 }, { index: 0, score: 1 }]); // prettier-ignore
  });

  it('are images of pixels by their first bytes, and never of markup', () => {
    const type = (text: string) => imageType(Uint8Array.from(text, (character) => character.charCodeAt(0)));
    expect(['\x89PNG\r\n', '\xff\xd8\xff\xe0', 'GIF89a', 'RIFF....WEBP', '<svg onload=x>', ''].map(type)).toEqual([
      'image/png', 'image/jpeg', 'image/gif', 'image/webp', undefined, undefined,
    ]); // prettier-ignore
  });
});

describe('inputs', () => {
  it('are images by their shape', () => {
    expect(imageLayout([3, 224, 224])).toEqual({ channels: 3, height: 224, width: 224, channelsFirst: true });
    expect(imageLayout([-1, -1, 1])).toEqual({ channels: 1, height: -1, width: -1, channelsFirst: false });
    expect(imageLayout([28, 32])).toEqual({ channels: 0, height: 28, width: 32, channelsFirst: true });
    expect([[224, -1], [3, 2, 2], [3, 4, 224, 224], [5, 224, 224]].map(imageLayout)).toEqual([undefined, undefined, undefined, undefined]); // prettier-ignore
  });

  it('have their pixels by channel or by place, in the range that was chosen', () => {
    const rgba = [255, 0, 51, 255, 0, 102, 255, 0];
    const values = (channels: number, channelsFirst: boolean, range: 'one' | 'byte' | 'signed') =>
      Array.from(pixelValues(rgba, { channels, channelsFirst, range }), (value) => Number(value.toFixed(3)));
    expect(values(3, true, 'one')).toEqual([1, 0, 0, 0.4, 0.2, 1]);
    expect(values(3, false, 'byte')).toEqual([255, 0, 51, 0, 102, 255]);
    expect(values(1, true, 'byte')).toEqual([82, 89]);
    expect(values(3, false, 'signed')).toEqual([1, -1, -0.6, -1, -0.2, 1]);
  });

  it('have one channel of sound', () => {
    expect(mono([Float32Array.of(1, 0), Float32Array.of(0, 0.5)])).toEqual(Float32Array.of(0.5, 0.25));
  });
});

describe('parameters', () => {
  it('are numbers, truth or text', () => {
    expect(['1', '1.5', 'true', '"1"', 'word', '[1]', ''].map(parameterOf)).toEqual([
      1,
      1.5,
      true,
      '1',
      'word',
      '[1]',
      '',
    ]);
  });

  it('of sequences go on, and begin the next one after the end', () => {
    expect(sequenceParameters({ id: '7', start: true, end: false })).toEqual({ sequence_id: 7, sequence_start: true, sequence_end: false }); // prettier-ignore
    expect(sequenceParameters({ id: 'chat', start: false, end: true })['sequence_id']).toBe('chat');
    expect(nextSequence({ id: '7', start: true, end: false })).toEqual({ id: '7', start: false, end: false });
    expect(nextSequence({ id: '7', start: false, end: true })).toEqual({ id: '8', start: true, end: false });
  });
});

describe('a stream', () => {
  it('joins texts, counts all responses and keeps the latest', () => {
    const stream = new StreamText();
    for (let i = 0; i < 300; i++)
      stream.add({ model_name: 'm', model_version: '1', word: `${i} `, i, mixed: i === 0 ? 'a' : 1 });
    expect([stream.count, stream.latest.length, stream.latest[0]?.number]).toEqual([300, 200, 101]);
    expect([...stream.texts.keys()]).toEqual(['word']);
    expect(stream.texts.get('word')).toMatch(/^0 1 2 .* 299 $/);
    stream.add({ error: 'broken' });
    expect([stream.count, stream.error]).toEqual([300, 'broken']);
  });

  it('holds no more than so much text', () => {
    const stream = new StreamText();
    for (let i = 0; i < 30; i++) stream.add({ word: `${i}${'x'.repeat(10_000)}` });
    expect(stream.texts.get('word')?.length).toBe(200_000);
  });

  it('shows no whole tensors of each response', () => {
    const stream = new StreamText();
    stream.add({ model_name: 'm', y: new Array<number>(100_000).fill(7), n: 2n ** 60n });
    const [{ outputs }] = stream.latest as [(typeof stream.latest)[0]];
    expect(outputs.map(([name, text]) => [name, text.length, text.slice(0, 6)])).toEqual([
      ['y', 1002, '[7,7,7'],
      ['n', 21, '"11529'],
    ]);
  });
});

describe('figures', () => {
  it('have few digits', () => {
    expect([0, 0.123, 1.5, 12.34, 169.4, 1234, 999_600, 2_500_000].map(rate)).toEqual(['0', '0.12', '1.5', '12.3', '169', '1.23k', '1M', '2.5M']); // prettier-ignore
    expect([null, 0.25, 3.14159, 250, 12_345].map(duration)).toEqual(['–', '250 µs', '3.14 ms', '250 ms', '12.3 s']);
  });
});
