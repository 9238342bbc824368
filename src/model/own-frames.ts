// The part of an error's stack that lies in the user's own files.

import { stackOf, type TritonError } from '../errors.js';

/** Where the error came from in the user's own files: lines below its message in the log. Empty where nothing of theirs was under way. */
export function ownFrames({ cause }: TritonError): string {
  const lines = stackOf(cause)?.split('\n') ?? [];
  return lines
    .filter((line) => /^ +at /.test(line) && !/node:|[/\\]node_modules[/\\]/.test(line))
    .map((line) => `\n${line}`)
    .join('');
}
