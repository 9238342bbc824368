// The next states of sequences where each group of rows has a call of its own. A group may leave out a state that others give:
// it stays as it was. The joined state needs rows for that group too.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { copyOf } from '../tensor/copy-of.js';
import type { Tensor } from '../tensor/tensor.js';
import type { Tensors } from './decorator-parts.js';
import { takeRows } from './rows.js';

export class GroupStates {
  /** By the output of a state, the tensor of each group. */
  readonly #kept: ReadonlyMap<string, Tensor[]>;
  readonly #decoupled: boolean;

  /** To be made before the calls, which may write to their inputs. */
  constructor(inputs: Tensors, groups: readonly (readonly number[])[], config: CompleteModelConfig) {
    const states = config.sequenceBatching?.states ?? [];
    this.#decoupled = config.decoupled;
    this.#kept = new Map(
      states.flatMap(({ name, output }) => {
        // A test that calls the callable need not give states.
        const tensor = inputs[name];
        return tensor === undefined ? [] : [[output, groups.map((rows) => copyOf(takeRows(tensor, rows)))]];
      }),
    );
  }

  /** Gives the outputs of a group the states that only other groups have given, for one step of the groups. */
  complete(outputs: readonly Record<string, Tensor>[]): void {
    for (const [name, kept] of this.#kept) {
      if (outputs.every((given) => given[name] === undefined)) continue;
      outputs.forEach((given, group) => {
        const tensor = given[name];
        if (tensor === undefined) given[name] = kept[group]!;
        // For the next step. The callable may use its memory again by then.
        else if (this.#decoupled) kept[group] = copyOf(tensor);
      });
    }
  }
}
