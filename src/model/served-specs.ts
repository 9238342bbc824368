// Members of tensors that only the server needs: how plain JSON writes them, what they are for, and how the page shows them. They are checked here, so that a
// client does not carry the checks.

import { expectString, textOf } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import { type Dtype, isBytesDtype } from '../tensor/dtype.js';
import { formatShape } from '../tensor/shape.js';
import type { CompleteTensorSpec } from './complete-model-config.js';
import type { BoxForm, TensorSpec, TensorSpecs } from './tensor-spec.js';

/** `complete`: of the same declaration, in its order. Throws INVALID_ARG. */
export function servedSpecs(
  specs: TensorSpecs,
  complete: readonly CompleteTensorSpec[],
  kind: 'input' | 'output',
  where: string,
): CompleteTensorSpec[] {
  const given = Object.values(specs) as readonly TensorSpec[];
  return complete.map((one, i) => {
    const { contentEncoding, description, boxes } = given[i]!;
    const what = `${kind} '${one.name}' of ${where}`;
    return {
      ...one,
      ...(contentEncoding !== undefined && { contentEncoding: expectBase64(contentEncoding, one.dtype, what) }),
      ...(description !== undefined && { description: expectString(description, `description of ${what}`) }),
      ...(boxes !== undefined && { boxes: expectBoxes(boxes, one, kind, what) }),
    };
  });
}

function expectBase64(contentEncoding: unknown, dtype: Dtype, what: string): 'base64' {
  if (contentEncoding !== 'base64') {
    throw invalidArg(`contentEncoding of ${what} must be 'base64', got ${textOf(contentEncoding)}`);
  }
  if (!isBytesDtype(dtype)) throw invalidArg(`contentEncoding of ${what} is for bytes and strings, not for ${dtype}`);
  return contentEncoding;
}

const BOX_FORMS: readonly unknown[] = ['xyxy', 'xywh', 'cxcywh'] satisfies readonly BoxForm[];
/** The numbers of a box. */
const SIDES = 4;

function expectBoxes(boxes: unknown, spec: CompleteTensorSpec, kind: 'input' | 'output', what: string): BoxForm {
  const { dtype, shape } = spec;
  if (!BOX_FORMS.includes(boxes)) {
    throw invalidArg(`boxes of ${what} must be 'xyxy', 'xywh' or 'cxcywh', got ${textOf(boxes)}`);
  }
  if (kind === 'input') throw invalidArg(`only outputs have boxes, but ${what} has some`);
  if (isBytesDtype(dtype) || dtype === 'bool') throw invalidArg(`boxes of ${what} are numbers, which ${dtype} is not`);
  const length = shape.at(-1);
  if (length === undefined || (length !== -1 && length < SIDES)) {
    throw invalidArg(`boxes of ${what} need rows of ${SIDES} values at least, got the shape ${formatShape(shape)}`);
  }
  return boxes as BoxForm;
}
