// Runs what docs/cli.md says: its files are served as it says, and each command that is marked `cli` prints the block behind it.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packedPackage, type PackedPackage, type RunningCommand, type ServedLine } from '../support/packed-package.js';

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/cli.md', import.meta.url)), 'utf8');

const files = Array.from(PAGE.matchAll(/<!-- file: (\S+) -->[\s\S]*?```ts\n([\s\S]*?)```/g), ([, name, code]) => [name!, code!] as const); // prettier-ignore
const commands = Array.from(
  PAGE.matchAll(/<!-- test: cli -->\s+```sh\n([\s\S]*?)```\s+```(\w+)\n([\s\S]*?)```/g),
  ([, command, language, printed]) => ({ command: command!, language: language!, printed: printed! }),
);

describe('the page of the command', () => {
  let installed: PackedPackage;
  let server: RunningCommand;
  let served: ServedLine;

  beforeAll(async () => {
    installed = packedPackage();
    for (const [name, code] of files) installed.write(name, code);
    // Without arguments, as it says of its configuration file.
    server = installed.start(['serve', '--json', '--http-port=0', '--grpc-port=0', '--metrics-port=0']);
    served = await server.served();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    installed[Symbol.dispose]();
  });

  it('has modules and a configuration file that serve what it says', () => {
    expect(files.map(([name]) => name)).toEqual(['model.ts', 'words.ts', 'tstriton.config.ts']);
    expect(served.models.map(({ name }) => name).toSorted()).toEqual(['AddSub', 'Words']);
    const [, line] = /```json\n(\{\s+"http"[\s\S]*?)\n```/.exec(PAGE)!;
    expect(Object.keys(JSON.parse(line!) as object)).toEqual(Object.keys(served));
  });

  it.each(commands)('prints what it says: $command', async ({ command, language, printed }) => {
    const at = command
      .replace('http://localhost:8000', served.http)
      .replace('grpc://localhost:8001', served.grpc)
      .replaceAll('npx tstriton', `"${process.execPath}" "${installed.command}"`);
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', at], { cwd: installed.folder });
    expect(stderr).toBe('');
    const read = (text: string): unknown => (language === 'json' ? JSON.parse(text) : text);
    expect(read(stdout)).toEqual(read(printed));
  });

  it('has commands that are run', () => {
    expect(commands.length).toBeGreaterThan(2);
  });
});
