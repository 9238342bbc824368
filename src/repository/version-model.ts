// The model that a backend makes of one version, and the files that it makes it from.

import type { BoundModel } from '../model/bound-model.js';
import type { TensorSpecs } from '../model/tensor-spec.js';

/** What `Triton.bind` takes. */
export type VersionModel = BoundModel<TensorSpecs, TensorSpecs, boolean>;

/** What a backend reads of a version. */
export interface ReadModel {
  readonly model: VersionModel;
  /** The tensors that are completed with a reshape to no dimensions; missing: none. */
  readonly reshapedScalars?: readonly string[];
}

/** Where the files of a version lie. */
export interface VersionFiles {
  readonly version: number;
  /** Ends the reading. */
  readonly signal: AbortSignal;
  /** Of the model's own file. */
  readonly path: string;
  /** The file of a warm-up's input. */
  readonly findInputFile: (file: string) => string;
  /** By the names of the outputs that have some. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Whether a client sent the files. */
  readonly isGiven: boolean;
  /** Whether the configuration must say all that the model's file does. */
  readonly isStrict: boolean;
}
