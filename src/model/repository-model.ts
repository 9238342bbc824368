// Declares a line of the repository's index, as both protocols have it.

/** The protocol's states of a version. */
export type RepositoryState = 'LOADING' | 'READY' | 'UNLOADING' | 'UNAVAILABLE';

export interface RepositoryModel {
  readonly name: string;
  /** '' for a model that was never loaded; then state and reason are '' too. */
  readonly version: string;
  readonly state: RepositoryState | '';
  /** Why it is not ready, or ''. */
  readonly reason: string;
}
