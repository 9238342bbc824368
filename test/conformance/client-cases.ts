// PyTriton's recorded clients as values.
/** A line of `cases/pytriton/clients.jsonl`. */
export interface ClientCase {
  readonly name: string;
  /** Of PyTriton's five; ours is one class. */
  readonly client?: string;
  readonly protocol?: 'http' | 'grpc';
  readonly model?: string;
  /** Of the cases about URLs. */
  readonly url?: unknown;
  readonly model_name?: string;
  readonly inference_timeout_s?: number;
  readonly init_timeout_s?: number | string;
  readonly result?: unknown;
  readonly error?: { readonly type: string; readonly message: string };
}

/** A name that no other line has: `infer-bool ModelClient grpc`. */
export function labelOf(testCase: ClientCase): string {
  const { name, client, protocol } = testCase;
  if (name === 'url') return `url ${JSON.stringify(testCase.url)}`;
  if (name === 'bad-arguments') {
    const { model_name: model, inference_timeout_s: timeout, init_timeout_s: init } = testCase;
    return `bad-arguments ${JSON.stringify(model ?? timeout ?? init)}`;
  }
  return [name, client, protocol].filter((part) => part !== undefined).join(' ');
}
