// The flags of `tstriton check`.

import type { AccessFlags } from '../server-access.js';

export interface CheckFlags extends AccessFlags {
  readonly json?: boolean;
  readonly selfTest: boolean;
}
