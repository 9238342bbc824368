// The input that a body of any type but JSON and form data is for: the only one of bytes or strings.

import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import { isBytesDtype } from '../../tensor/dtype.js';

export interface OnlyFile {
  /** Undefined where the model takes no such body. */
  readonly input: CompleteTensorSpec | undefined;
  /** Why it takes none. */
  readonly reason: string;
}

export function onlyFile({ inputs }: CompleteModelConfig): OnlyFile {
  const takers = inputs.filter(({ dtype }) => isBytesDtype(dtype));
  const [only] = takers;
  if (only === undefined || takers.length > 1) {
    return { input: undefined, reason: `it has ${takers.length} inputs of bytes or strings, expected one` };
  }
  const other = inputs.find((input) => input !== only && !input.optional);
  if (other === undefined) return { input: only, reason: '' };
  return { input: undefined, reason: `it also needs the input '${other.name}' (${other.dtype})` };
}
