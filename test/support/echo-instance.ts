// An instance that answers at once, with the inputs of each request under the names of the outputs.
import type {
  Execution,
  ExecutionDone,
  ExecutionRequest,
  ModelInstance,
} from '../../src/core/instance/model-instance.js';
import type { CompleteModelConfig } from '../../src/model/complete-model-config.js';

export class EchoInstance implements ModelInstance {
  readonly #config: CompleteModelConfig;

  constructor(config: CompleteModelConfig) {
    this.#config = config;
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone): Execution {
    const results = batch.map(({ inputs }) => {
      const outputs = inputs.map((input, index) => ({ ...input!, name: this.#config.outputs[index]!.name }));
      return { kind: 'outputs', outputs, parameters: undefined } as const;
    });
    done(results, { computeInput: 0, computeInfer: 0, computeOutput: 0 });
    return { cancel: () => undefined };
  }
}
