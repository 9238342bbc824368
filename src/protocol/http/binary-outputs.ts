// Which outputs of a response the client wants behind the JSON as raw bytes.

export interface BinaryOutputs {
  /** `binary_data_output` of the request: for outputs that are not listed. */
  readonly byDefault: boolean;
  /** Each listed output's own `binary_data`; undefined when the request lists none. */
  readonly listed: ReadonlyMap<string, boolean> | undefined;
}

/** A listed output is JSON unless it says otherwise itself, as in Triton. */
export function isBinaryOutput({ byDefault, listed }: BinaryOutputs, name: string): boolean {
  return listed?.get(name) ?? byDefault;
}
