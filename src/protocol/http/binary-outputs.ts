// Which outputs of a response the client wants behind the JSON as raw bytes, and which it finds in shared memory.

export interface BinaryOutputs {
  /** `binary_data_output` of the request: for outputs that are not listed. */
  readonly byDefault: boolean;
  /** Each listed output's own `binary_data`; undefined when the request lists none. */
  readonly listed: ReadonlyMap<string, boolean> | undefined;
  /** The outputs whose data is in shared memory and not in the answer. */
  readonly elsewhere?: ReadonlySet<string> | undefined;
}

/** A listed output is JSON unless it says otherwise itself, as in Triton. */
export function isBinaryOutput({ byDefault, listed }: BinaryOutputs, name: string): boolean {
  return listed?.get(name) ?? byDefault;
}
