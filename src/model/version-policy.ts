// Chooses the bound versions that are served, by Triton's ModelVersionPolicy. Where versions have different policies,
// the highest version's policy counts for all.

import { invalidArg } from '../errors.js';
import { checkMembers, expectAtLeast, expectInteger } from '../checks/check.js';

export type VersionPolicy =
  | { readonly all: Readonly<Record<string, never>> }
  | { readonly latest: { readonly numVersions: number } }
  | { readonly specific: { readonly versions: readonly number[] } };

export const EVERY_VERSION: VersionPolicy = { all: {} };

/** Throws INVALID_ARG. `what` names the option in messages. */
export function completeVersionPolicy(policy: VersionPolicy, what: string): VersionPolicy {
  checkMembers(policy, ['all', 'latest', 'specific'], what);
  const choices = Object.keys(policy);
  if (choices.length !== 1)
    throw invalidArg(`${what} must be one of all, latest and specific, got ${choices.join(' and ') || 'none'}`);
  if ('latest' in policy) {
    checkMembers(policy.latest, ['numVersions'], `latest of ${what}`);
    return {
      latest: { numVersions: expectInteger(policy.latest.numVersions, 1, 4_294_967_295, `numVersions of ${what}`) },
    };
  }
  if ('specific' in policy) {
    checkMembers(policy.specific, ['versions'], `specific of ${what}`);
    const { versions } = policy.specific;
    if (!Array.isArray(versions)) throw invalidArg(`versions of ${what} must be a list, got ${typeof versions}`);
    return {
      specific: {
        versions: versions.map((version) => expectAtLeast(version, 1, `a version of ${what}`)),
      },
    };
  }
  checkMembers(policy.all, [], `all of ${what}`);
  return EVERY_VERSION;
}

/** The versions that the policy serves. */
export function servedVersions(policy: VersionPolicy, versions: readonly number[]): ReadonlySet<number> {
  if ('latest' in policy) return new Set(versions.toSorted((a, b) => b - a).slice(0, policy.latest.numVersions));
  if ('specific' in policy) return new Set(versions.filter((version) => policy.specific.versions.includes(version)));
  return new Set(versions);
}
