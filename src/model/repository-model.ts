// One line of the repository's index, as both protocols have it.

export interface RepositoryModel {
  readonly name: string;
  /** '' for a model that was never loaded; then state and reason are '' too. */
  readonly version: string;
  readonly state: 'LOADING' | 'READY' | 'UNLOADING' | 'UNAVAILABLE' | '';
  /** Why it is not ready, or ''. */
  readonly reason: string;
}
