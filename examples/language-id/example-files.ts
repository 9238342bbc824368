// Where this example keeps its data. The compiled modules lie in a build folder, the sentences and the weights beside the
// sources, so the way goes up to the package that holds both and down again.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const EXAMPLE = join('examples', 'language-id');

/** The folder of the package: it holds package.json and this example's sentences. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) || !existsSync(join(folder, EXAMPLE, 'sentences'))) {
    const parent = dirname(folder);
    if (parent === folder) {
      throw new Error(`the folder '${EXAMPLE}' of the package was not found above ${fileURLToPath(import.meta.url)}`);
    }
    folder = parent;
  }
  return folder;
}

/** The path of one of this example's own files, for instance `exampleFile('sentences', 'de.txt')`. */
export function exampleFile(...path: readonly string[]): string {
  return join(packageRoot(), EXAMPLE, ...path);
}
