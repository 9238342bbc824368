// Checks the options that forward headers as soon as they are given, before anything is started with them.

import { HeaderForwarding } from '../protocol/header-forwarding.js';

/** Throws INVALID_ARG when `pattern` cannot be read. */
export function checkHeaderPattern(pattern: string | undefined, option: string): void {
  if (pattern !== undefined) void new HeaderForwarding(pattern, option);
}
