// Finds files of this package that lie beside its compiled modules, as the entries of threads do.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Undefined in a bundle, where the file is missing. `url` makes its URL from `import.meta.url`, and throws in a bundle of
 * CommonJS, which has none.
 */
export function ownFile(url: () => URL): URL | undefined {
  try {
    const file = url();
    return file.protocol === 'file:' && existsSync(fileURLToPath(file)) ? file : undefined;
  } catch {
    return undefined;
  }
}
