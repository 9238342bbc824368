// What is known of a model in a folder since it was last looked at: what was tried of its versions, what serves, and what failed.

import { describe } from '../core/load-failures.js';
import type { TritonError } from '../errors.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { GivenFiles } from '../repository/given-files.js';
import type { ModelBinding } from './model-binding.js';

/** What is known of one version. */
interface KnownVersion {
  /** Of the folder, and of what a client gave, when it was last tried. */
  readonly state: string;
  readonly binding: ModelBinding | undefined;
  /** Why the last try failed. */
  readonly failure: TritonError | undefined;
}

export class KnownModel {
  readonly versions = new Map<number, KnownVersion>();
  /** Why its folder could not be read the last time. */
  failure: TritonError | undefined;
  /** Of a load with files of a client's. */
  files: GivenFiles | undefined;

  /** Whether a version is not what it was when it was last tried. */
  hasChanged(version: number, state: string): boolean {
    return this.versions.get(version)?.state !== state;
  }

  /** Whether the last try of a version failed. */
  hasFailed(version: number): boolean {
    return this.versions.get(version)?.failure !== undefined;
  }

  /** What could not be bound, as the index shows it under the model's name. */
  broken(name: string): readonly RepositoryModel[] {
    const line = (version: string, error: TritonError): RepositoryModel => ({
      name,
      version,
      state: 'UNAVAILABLE',
      reason: describe(error),
    });
    const versions = [...this.versions];
    const serves = versions.some(([, { binding }]) => binding !== undefined);
    if (this.failure !== undefined && !serves) return [line('', this.failure)];
    return versions.flatMap(([version, { binding, failure }]) =>
      failure !== undefined && binding === undefined ? [line(String(version), failure)] : [],
    );
  }
}
