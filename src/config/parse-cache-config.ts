// The two ways to configure the response cache: Triton's cacheConfig, `local,size=1048576`, and the older
// responseCacheByteSize.

import { invalidArg, TritonError } from '../errors.js';

/** The response cache's size in bytes; undefined for none. Throws INVALID_ARG, or UNSUPPORTED for caches other than `local`. */
export function parseCacheConfig(
  cacheConfig: readonly string[],
  responseCacheByteSize: number | undefined,
): number | undefined {
  const [entry] = cacheConfig;
  if (entry === undefined) return responseCacheByteSize;
  if (responseCacheByteSize !== undefined) {
    throw invalidArg(
      `Incompatible options responseCacheByteSize and cacheConfig both provided, got ${responseCacheByteSize} and '${entry}'. Please provide one or the other.`,
    );
  }
  // Triton takes several settings of one cache one by one, and has one setting of its local cache.
  if (cacheConfig.length > 1) {
    throw invalidArg(
      `found multiple cache configurations, but only a single cache is currently supported, got ${cacheConfig.map((one) => `'${one}'`).join(', ')}`,
    );
  }
  const [name, ...settings] = entry.split(',').map((part) => part.trim());
  if (name !== 'local') {
    throw new TritonError('UNSUPPORTED', `cacheConfig: the only cache is 'local', got '${entry}'`);
  }
  const [, size] = (settings.length === 1 && /^size=([0-9]+)$/.exec(settings[0]!)) || [];
  if (size === undefined || Number(size) < 1 || !Number.isSafeInteger(Number(size))) {
    throw invalidArg(`cacheConfig must be like 'local,size=1048576' with a size of at least 1 byte, got '${entry}'`);
  }
  return Number(size);
}
