// Where a command writes: data to `out`, all else to `err`. Also the properties of the terminal.

export interface CliIo {
  readonly out: (data: string | Uint8Array) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person is at the other end, rather than a program or a file. */
  readonly terminal: { readonly in: boolean; readonly out: boolean; readonly err: boolean };
  /** Columns of the terminal. */
  readonly columns: number;
  /** Aborts when the reader of the output has stopped reading. */
  readonly outputClosed: AbortSignal;
  /** All of standard input. */
  readonly readInput: () => Promise<Uint8Array>;
}
