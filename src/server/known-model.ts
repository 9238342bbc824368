// Remembers the last look at a model's folder: the tried versions, the serving versions, and the failures.

import { describe } from '../core/load-failures.js';
import type { TritonError } from '../errors.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { ServedTimer } from '../pacing/served-timer.js';
import type { GivenFiles } from '../repository/given-files.js';
import type { ModelBinding } from './model-binding.js';

/** The last try of one version. */
interface KnownVersion {
  /** The state of the folder and of a client's files at the last try. */
  readonly state: string;
  readonly binding: ModelBinding | undefined;
  /** The files of a client that it serves. */
  readonly files: GivenFiles | undefined;
  /** Why the last try failed. */
  readonly failure: TritonError | undefined;
}

/** A version that is read or loaded now. */
export interface LoadingVersion {
  readonly version: number;
  /** The state that it had at the begin. */
  readonly state: string;
  /** Runs when its folder has changed since. */
  late: ServedTimer | undefined;
}

export class KnownModel {
  readonly versions = new Map<number, KnownVersion>();
  /** Undefined where a client has brought its configuration or files. */
  loading: LoadingVersion | undefined;
  /** Why its folder could not be read the last time. */
  failure: TritonError | undefined;
  /** The files of clients' loads. */
  readonly files = new Set<GivenFiles>();

  /** Whether a version has changed since its last try. */
  hasChanged(version: number, state: string): boolean {
    return this.versions.get(version)?.state !== state;
  }

  /** Whether the last try of a version failed. */
  hasFailed(version: number): boolean {
    return this.versions.get(version)?.failure !== undefined;
  }

  /** Removes the files that no version serves. */
  async removeUnused(): Promise<void> {
    const used = new Set([...this.versions.values()].map(({ files }) => files));
    const unused = [...this.files].filter((each) => !used.has(each));
    for (const each of unused) this.files.delete(each);
    for (const each of unused) await each.remove();
  }

  /** The failures as lines of the index under the model's name. */
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
