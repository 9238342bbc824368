// Where a command writes: data to `out`, all else to `err`. What it knows of the terminal.

export interface CliIo {
  readonly out: (data: string | Uint8Array) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether somebody looks at what is written there, rather than a program reads it. */
  readonly terminal: { readonly out: boolean; readonly err: boolean };
  /** Columns of the terminal. */
  readonly columns: number;
  /** Aborts when whoever reads the output has stopped reading. */
  readonly outputClosed: AbortSignal;
  /** All of standard input. */
  readonly readInput: () => Promise<Uint8Array>;
}
