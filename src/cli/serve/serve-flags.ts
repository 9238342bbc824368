// The flags of `tstriton serve` that are no options of the server.

export interface ServeFlags {
  readonly watch?: boolean;
  readonly config?: string;
  readonly name?: string;
  readonly instances?: number;
  readonly maxBatchSize?: number;
  readonly json?: boolean;
  readonly quiet?: boolean;
}
