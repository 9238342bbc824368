import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { selfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import { temporaryFolder } from '../../test/support/temporary-files.js';
import { certificateFile } from './arguments.js';

const { cert: first } = selfSignedCertificate();
const { cert: second } = selfSignedCertificate();

describe('a file of --ca', () => {
  it('is read for each connection, for it may be renewed', () => {
    const path = temporaryFolder()('ca.pem', first);
    const ca = certificateFile(path);
    expect(ca()).toBe(first);
    writeFileSync(path, second);
    expect(ca()).toBe(second);
  });

  it.skipIf(process.platform === 'win32')('is read once where it is a pipe', () => {
    const path = temporaryFolder()('pipe');
    execFileSync('mkfifo', [path]);
    // This thread waits for the writer.
    spawn('sh', ['-c', 'printf %s "$0" > "$1"', first, path]);
    const ca = certificateFile(path);
    expect([ca(), ca()]).toEqual([first, first]);
  });

  it('is refused where it has none', () => {
    const write = temporaryFolder();
    for (const text of ['', 'text', first.replace('BEGIN', 'END'), first.slice(0, 90) + first.slice(120)]) {
      expect(() => certificateFile(write('ca.pem', text))).toThrow('It has no certificate in PEM form.');
    }
  });
});
