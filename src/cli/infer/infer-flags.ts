// The flags of `tstriton infer`.

import type { AccessFlags } from '../server-access.js';
import type { Format } from './show-outputs.js';

export interface InferFlags extends AccessFlags {
  readonly data?: string;
  readonly input?: readonly string[];
  readonly batch?: boolean;
  readonly outputs?: readonly string[];
  readonly parameter?: readonly string[];
  readonly modelVersion?: number;
  readonly requestId?: string;
  readonly format?: Format;
  readonly binary: boolean;
}
