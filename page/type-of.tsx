// The dtype and the shape of a tensor.

import type { DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import { shapeText } from './elements.js';

export function TypeOf({ spec }: { readonly spec: DeclaredTensorJson }) {
  return (
    <span class="type">
      {spec.dtype}
      {shapeText(spec.shape)}
    </span>
  );
}
