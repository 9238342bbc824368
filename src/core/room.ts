// Memory that requests take beside their bytes, of which there is a limited amount for all of them.

export interface Room {
  /** Reserves bytes. False when they do not fit. */
  take(bytes: number): boolean;
  give(bytes: number): void;
  /** No request gets more. */
  readonly largest: number;
}
