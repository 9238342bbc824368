import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../../test/support/temporary-files.js';
import { certificateFile } from './arguments.js';

const textOf = (name: string) => `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----\n`;

describe('a file of --ca', () => {
  it('is read for each connection, for it may be renewed', () => {
    const path = temporaryFolder()('ca.pem', textOf('first'));
    const ca = certificateFile(path);
    expect(ca()).toBe(textOf('first'));
    writeFileSync(path, textOf('second'));
    expect(ca()).toBe(textOf('second'));
  });

  it.skipIf(process.platform === 'win32')('is read once where it is a pipe', () => {
    const path = temporaryFolder()('pipe');
    execFileSync('mkfifo', [path]);
    // This thread waits for the writer.
    spawn('sh', ['-c', 'printf %s "$0" > "$1"', textOf('piped'), path]);
    const ca = certificateFile(path);
    expect([ca(), ca()]).toEqual([textOf('piped'), textOf('piped')]);
  });
});
