import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { selfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import { readPortTls, type TlsFiles } from './port-tls.js';

let folder: string;
let files: TlsFiles;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tstriton-'));
  const { cert, key } = selfSignedCertificate();
  files = {
    port: 'grpc',
    serverCert: write('cert.pem', cert),
    serverKey: write('key.pem', key),
    rootCert: undefined,
    mutual: false,
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const invalid = (message: string) => expect.objectContaining({ code: 'INVALID_ARG', message });

describe('the files of TLS', () => {
  it('are read', () => {
    const { cert, key, ca, requestCert } = readPortTls({ ...files, rootCert: files.serverCert, mutual: true });
    expect(cert.toString()).toContain('BEGIN CERTIFICATE');
    expect(key.toString()).toContain('PRIVATE KEY');
    expect([ca?.equals(cert), requestCert]).toEqual([true, true]);
    expect(readPortTls(files).ca).toBeUndefined();
  });

  it.each([
    ['serverCert', 'grpcServerCert'],
    ['serverKey', 'grpcServerKey'],
    ['rootCert', 'grpcRootCert'],
  ])('must be there (%s)', (member, option) => {
    const path = join(folder, 'missing.pem');
    expect(() => readPortTls({ ...files, [member]: path })).toThrow(
      invalid(expect.stringMatching(new RegExp(`^${option}: cannot read ${path}: ENOENT`)) as string),
    );
    expect(() => readPortTls({ ...files, [member]: folder })).toThrow(
      invalid(expect.stringMatching(new RegExp(`^${option}: cannot read ${folder}: EISDIR`)) as string),
    );
  });

  it.each([
    ['serverCert', 'grpcServerCert: expected a certificate in PEM form in '],
    ['serverKey', 'grpcServerKey: expected an unencrypted private key in PEM form in '],
    ['rootCert', 'grpcRootCert: expected certificates in PEM form in '],
  ])('must be what they should be (%s)', (member, text) => {
    const path = write('garbage.pem', 'garbage');
    expect(() => readPortTls({ ...files, [member]: path })).toThrow(
      invalid(expect.stringContaining(`${text}${path}, got: `) as string),
    );
  });

  it('may not be a key with a passphrase', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const text = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' });
    expect(() => readPortTls({ ...files, serverKey: write('locked.pem', text as string) })).toThrow(
      invalid(expect.stringContaining('grpcServerKey: expected an unencrypted private key') as string),
    );
  });

  it('are those of the port that they are for', () => {
    const path = join(folder, 'missing.pem');
    expect(() => readPortTls({ ...files, port: 'http', rootCert: path })).toThrow(
      invalid(expect.stringMatching(/^httpRootCert: cannot read /) as string),
    );
  });

  it('must fit together', () => {
    const other = write('other.pem', selfSignedCertificate().key);
    expect(() => readPortTls({ ...files, serverKey: other })).toThrow(
      invalid(
        expect.stringContaining(`grpcServerKey: expected the key of the certificate ${files.serverCert}`) as string,
      ),
    );
  });
});
