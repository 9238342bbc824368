// A bar on standard error for what takes long: only where somebody looks at it.

import type { CliIo } from './cli-io.js';

const WIDTH = 30;

export interface Progress {
  /** `share` is from 0 to 1. */
  update(share: number, text: string): void;
  /** Takes the bar away. */
  clear(): void;
}

export function progress({ terminal, err, columns }: CliIo): Progress {
  if (!terminal.err) return { update: () => undefined, clear: () => undefined };
  return {
    update: (share, text) => err(`\r\x1b[K${progressLine(share, text).slice(0, Math.max(columns - 1, 10))}`),
    clear: () => err('\r\x1b[K'),
  };
}

export function progressLine(share: number, text: string): string {
  const done = Math.round(Math.min(Math.max(share, 0), 1) * WIDTH);
  return `${'█'.repeat(done)}${'░'.repeat(WIDTH - done)} ${text}`;
}
