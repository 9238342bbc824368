// Reads the version of a request: a string on the wire, '' asking for the latest.

import { TritonError } from '../errors.js';

const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Undefined for the latest version. Throws INVALID_ARG with Triton's texts (server/src/common.cc). */
export function parseModelVersion(version: string): number | undefined {
  if (version === '') return undefined;
  if (/^-[0-9]+$/.test(version)) {
    throw new TritonError(
      'INVALID_ARG',
      `invalid model version specified '${version}' , version should be an integral value > 0`,
    );
  }
  if (!/^[0-9]+$/.test(version) || (version.length > 18 && BigInt(version) > MAX_INT64)) {
    throw new TritonError(
      'INVALID_ARG',
      `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`,
    );
  }
  return Number(version);
}
