// The flags of `tstriton serve` beside the server's options.

export interface ServeFlags {
  readonly watch?: boolean;
  readonly config?: string;
  readonly remote?: string;
  readonly instanceAddress?: string;
  readonly name?: string;
  readonly instances?: number;
  readonly maxBatchSize?: number;
  readonly json?: boolean;
  readonly quiet?: boolean;
}
