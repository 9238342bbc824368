// What a command of `tstriton` writes, where it runs in the test's own process and no terminal is.
import type { CliIo } from '../../src/cli/cli-io.js';

const NO_INPUT = new Uint8Array(0);

export interface Written {
  out: string;
  err: string;
}

export function testedIo(): { readonly io: CliIo; readonly written: Written } {
  const written = { out: '', err: '' };
  const io: CliIo = {
    out: (data) => void (written.out += typeof data === 'string' ? data : Buffer.from(data).toString()),
    err: (text) => void (written.err += text),
    env: {},
    terminal: { in: false, out: false, err: false },
    columns: 100,
    outputClosed: new AbortController().signal,
    readInput: () => Promise.resolve(NO_INPUT),
  };
  return { io, written };
}
