/** Parameters of a request or response. Integers beyond 2^53 are bigints. */
export type Parameters = Readonly<Record<string, string | boolean | number | bigint>>;
