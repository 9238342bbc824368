// What the form holds for an input, and what it sends for it.

import type { DeclaredJson, DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import { count, type Elements, isFloat, readElements } from './elements.js';
import { imageElements, imageLayout, type PixelRange } from './image-tensor.js';
import type { SnippetInput } from './snippet-parts.js';
import { soundElements } from './sound-tensor.js';

/** How an input is given. */
export type Mode = 'values' | 'text' | 'file' | 'random' | 'image' | 'sound';

export interface InputState {
  readonly mode: Mode;
  readonly typed: string;
  readonly file: File | undefined;
  /** Optional inputs may stay away. */
  readonly isSent: boolean;
  readonly range: PixelRange;
  /** Samples a second. */
  readonly rate: number;
}

export const MODE_NAMES: Readonly<Record<Mode, string>> = {
  values: 'Values',
  text: 'Text',
  file: 'File',
  random: 'Random',
  image: 'Image',
  sound: 'Sound',
};

/** More values than these are not written down. */
const MOST_WRITTEN = 64;
/** The size that stands for an open one. */
const OPEN = 3;

/** The ways that make sense, the usual one first. */
export function modesOf(spec: DeclaredTensorJson): readonly Mode[] {
  const { dtype, datatype, shape } = spec;
  if (datatype === 'BYTES') {
    const isSingle = sampleShape(shape).every((size) => size === 1) || shape.every((size) => size === -1 || size === 1);
    if (!isSingle) return ['values'];
    return dtype === 'string' && spec.contentEncoding === undefined
      ? ['text', 'values', 'file']
      : ['file', 'text', 'values'];
  }
  if (datatype === 'BOOL') return ['values'];
  const modes: Mode[] = ['values'];
  if (count(sampleShape(shape)) > 1) modes.push('random');
  const layout = imageLayout(shape);
  // Floats with two axes are rather a matrix.
  if (layout !== undefined && (layout.channels > 0 || datatype === 'UINT8')) modes.unshift('image');
  else if (layout !== undefined) modes.push('image');
  if (shape.length === 1 && shape[0] === -1 && (isFloat(datatype) || datatype === 'INT16')) modes.push('sound');
  if (modes[0] === 'values' && count(sampleShape(shape)) > MOST_WRITTEN) return ['random', 'values', ...modes.slice(2)];
  return modes;
}

function sampleShape(shape: readonly number[]): readonly number[] {
  return shape.map((size) => (size === -1 ? (shape.length === 1 ? OPEN : 2) : size));
}

export function initialState(spec: DeclaredTensorJson, { openai }: DeclaredJson): InputState {
  const mode = modesOf(spec)[0]!;
  return {
    mode,
    typed:
      openai === 'chat' && spec.name === 'messages' ? '[{"role": "user", "content": "Hello"}]' : sampleText(spec, mode),
    file: undefined,
    isSent: !spec.optional,
    range: 'one',
    rate: 16_000,
  };
}

function sampleText({ datatype, dtype, shape }: DeclaredTensorJson, mode: Mode): string {
  if (dtype === 'string' && mode !== 'values') return 'Hello';
  const size = sampleShape(shape);
  if (dtype === 'bytes' || count(size) > MOST_WRITTEN) return '';
  let next = 0;
  const nest = ([length, ...inner]: readonly number[]): string => {
    if (length === undefined) return dtype === 'string' ? '"Hello"' : datatype === 'BOOL' ? 'true' : String(++next);
    const parts = Array.from({ length }, () => nest(inner));
    return size.length === 1 ? parts.join(', ') : `[${parts.join(', ')}]`;
  };
  return nest(size);
}

export interface Prepared {
  readonly elements: Elements;
  readonly snippet: SnippetInput;
}

/** Reads what the form holds. Rejects with what is missing or wrong. */
export async function prepare(spec: DeclaredTensorJson, state: InputState): Promise<Prepared> {
  const { mode, typed, file } = state;
  const elements = await elementsOf(spec, state);
  if (mode === 'file') {
    return { elements, snippet: { spec, shape: elements.shape, literals: undefined, file: file!.name } };
  }
  const values = Array.from(elements.values, (value) =>
    spec.datatype === 'BYTES' ? JSON.stringify(value) : String(value),
  );
  const isWritten = mode === 'values' || mode === 'text' || typed.length < 4096;
  const literals = isWritten && values.length <= MOST_WRITTEN ? values : undefined;
  return { elements, snippet: { spec, shape: elements.shape, literals } };
}

async function elementsOf(spec: DeclaredTensorJson, { mode, typed, file, range, rate }: InputState): Promise<Elements> {
  const single = spec.shape.map(() => 1);
  switch (mode) {
    case 'values':
      return readElements(typed, spec);
    case 'text':
      return { shape: single, values: [typed] };
    case 'random':
      return randomElements(spec);
    case 'file':
      return { shape: single, values: [new Uint8Array(await given(file).arrayBuffer())] };
    case 'image':
      return imageElements(given(file), spec, range);
    case 'sound':
      return soundElements(given(file), spec, rate);
  }
}

function given(file: File | undefined): File {
  if (file === undefined) throw new Error('choose a file');
  return file;
}

function randomElements({ datatype, shape }: DeclaredTensorJson): Elements {
  const size = sampleShape(shape);
  const most = isFloat(datatype) ? 1 : datatype.endsWith('INT8') ? 128 : 1000;
  const values = Array.from({ length: count(size) }, () => Math.random() * most);
  return {
    shape: size,
    values: isFloat(datatype) ? values.map((value) => Number(value.toFixed(4))) : values.map(Math.floor),
  };
}

/** As JSON spells the whole input, for `generate_stream`. Throws for bytes that are no text. */
export function jsonOf({ datatype, name }: DeclaredTensorJson, { shape, values }: Elements): string {
  const texts = Array.from(values, (value) => {
    if (!(value instanceof Uint8Array)) return datatype === 'BYTES' ? JSON.stringify(value) : String(value);
    try {
      return JSON.stringify(new TextDecoder('utf-8', { fatal: true }).decode(value));
    } catch {
      throw new Error(`${name}: over HTTP a model that streams takes text, and this file is none`);
    }
  });
  const nest = ([length, ...inner]: readonly number[], at: number): string => {
    if (length === undefined) return texts[at]!;
    const size = count(inner);
    return `[${Array.from({ length }, (_, row) => nest(inner, at + row * size)).join(',')}]`;
  };
  return texts.length === 1 ? texts[0]! : nest(shape, 0);
}
