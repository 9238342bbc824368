// The outputs of an inference, for a person, as JSON, or as the bytes themselves.

import { invalidArg } from '../../errors.js';
import { type Dtype, DTYPES } from '../../tensor/dtype.js';
import { nest, type Nested } from '../../tensor/nested.js';
import { encodeRaw } from '../../tensor/raw.js';
import { formatShape } from '../../tensor/shape.js';
import type { Tensor } from '../../tensor/tensor.js';
import { inOneLine, type Style } from '../style.js';
import { writeJson } from './exact-json.js';

export const FORMATS = ['pretty', 'json', 'raw'] as const;
export type Format = (typeof FORMATS)[number];

type Outputs = Readonly<Record<string, Tensor>>;

/** Of more values than this, only the range is shown. */
const MOST_SHOWN = 100;

/** The outputs of one answer. Throws INVALID_ARG for outputs that the format cannot show. */
export function showOutputs(outputs: Outputs, format: Format, style: Style): string | Uint8Array {
  if (format === 'raw') return rawOutput(outputs);
  if (format === 'json') {
    const members = Object.entries(outputs).map(([name, tensor]) => [name, plainOf(name, tensor)] as const);
    return `${writeJson(Object.fromEntries(members))}\n`;
  }
  const shown = Object.entries(outputs).map(([name, tensor]) => showTensor(name, tensor, style));
  return `${shown.join('\n')}\n`;
}

function rawOutput(outputs: Outputs): Uint8Array {
  const [first, ...others] = Object.entries(outputs);
  if (first === undefined || others.length > 0) {
    throw invalidArg(
      `raw output is one tensor, got ${Object.keys(outputs).join(', ') || 'none'}; name it by --outputs`,
    );
  }
  const [, { dtype, data }]: [string, Tensor<Dtype>] = first;
  if (DTYPES[dtype].kind !== 'bytes') return encodeRaw(dtype, data);
  if (data.length !== 1) throw invalidArg(`raw output of texts is one element, got ${data.length}`);
  const [element] = data as readonly (string | Uint8Array)[];
  return typeof element === 'string' ? Buffer.from(element) : element!;
}

function plainOf(name: string, tensor: Tensor<Dtype>): Nested {
  if (DTYPES[tensor.dtype].kind === 'half') return nest(tensor.toFloat32(), tensor.shape);
  if (tensor.dtype !== 'bytes') return tensor.toNested();
  return nest(textsOf(name, tensor) as unknown as Parameters<typeof nest>[0], tensor.shape);
}

function textsOf(name: string, tensor: Tensor): readonly string[] {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (tensor.data as readonly Uint8Array[]).map((element) => {
    try {
      return decoder.decode(element);
    } catch {
      throw invalidArg(`output '${name}' has bytes that are no text; ask for it by --format raw --outputs ${name}`);
    }
  });
}

function showTensor(name: string, tensor: Tensor<Dtype>, style: Style): string {
  const { datatype, kind } = DTYPES[tensor.dtype];
  const head = `${style('bold', inOneLine(name))}  ${style('dim', `${datatype} ${formatShape(tensor.shape)}`)}`;
  const { length } = tensor.data;
  if (length <= MOST_SHOWN) return `${head}\n${indented(rows(showable(tensor)))}`;
  if (kind === 'bytes') return `${head}\n  ${length} texts`;
  return `${head}\n  ${length} values, ${range(kind === 'half' ? tensor.toFloat32() : tensor.data)}`;
}

/** A person may look at bytes, too, that are not text. */
function showable(tensor: Tensor): Nested {
  if (tensor.dtype !== 'bytes') return plainOf('', tensor);
  return nest(tensor.strings() as unknown as Parameters<typeof nest>[0], tensor.shape);
}

/** A row of the last axis a line. */
function rows(values: Nested): string {
  if (!Array.isArray(values) || !values.some(Array.isArray)) return (writeJson(values) as string).replaceAll(',', ', ');
  return (values as readonly Nested[]).map(rows).join('\n');
}

function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

function range(data: ArrayLike<number | bigint | string | Uint8Array>): string {
  let [least, most, sum, odd] = [Infinity, -Infinity, 0, 0];
  for (let index = 0; index < data.length; index++) {
    const value = Number(data[index]);
    if (!Number.isFinite(value)) {
      odd++;
      continue;
    }
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
  }
  const finite = data.length - odd;
  const oddText = odd === 0 ? '' : `, ${odd} not finite`;
  if (finite === 0) return `none finite`;
  return `from ${least} to ${most}, mean ${Number((sum / finite).toPrecision(6))}${oddText}`;
}
