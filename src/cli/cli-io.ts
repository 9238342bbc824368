// Where a command writes: data to `out`, all else to `err`. What it knows of the terminal.

export interface CliIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether somebody looks at what is written there, rather than a program reads it. */
  readonly terminal: { readonly out: boolean; readonly err: boolean };
  /** Columns of the terminal. */
  readonly columns: number;
  /** All of standard input. */
  readonly readInput: () => Promise<Uint8Array>;
}
