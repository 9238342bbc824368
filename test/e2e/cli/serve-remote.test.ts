// `tstriton serve --remote`: a process that serves its models through the server of another one.
import { writeFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';

import { REMOTE, REMOTE_TOKEN } from '../../support/remote.js';
import { selfSignedCertificate } from '../../support/self-signed-certificate.js';
import { inferJson, startServer } from '../../support/start-server.js';
import { temporaryFolder } from '../../support/temporary-files.js';
import { watchedProcess } from '../../support/watched-process.js';

const path = (relative: string) => new URL(relative, import.meta.url).pathname;
const MAIN = path('../../../dist/cli/main.js');
const MODEL = path('../../fixtures/twice.js');
const file = temporaryFolder();
const CONFIG = file('server.json');
beforeAll(() => writeFileSync(CONFIG, '{"logInfo": false}'));
type Pem = { readonly cert: string; readonly other: string };
const TOKEN = ['--remote-access-token', REMOTE_TOKEN];

function serve(...args: readonly string[]) {
  return watchedProcess([MAIN, 'serve', ...args]);
}

describe('tstriton serve --remote', () => {
  it('serves the models of a file until a signal comes', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const binder = serve(MODEL, '--remote', server.grpc, '--json', ...TOKEN);
    await binder.wrote(JSON.stringify({ remote: server.grpc, models: ['Twice'] }));
    expect(binder.output).toContain(`serving Twice through ${server.grpc}`);
    const { outputs } = await inferJson(server.http, 'Twice', [
      { name: 'x', datatype: 'INT32', shape: [1, 1], data: [21] },
    ]);
    expect(outputs[0]!.data).toEqual([42]);
    binder.kill('SIGINT');
    expect(await binder.ended).toBe(0);
    expect((await fetch(`${server.http}/v2/models/Twice`)).status).toBe(404);
  });

  it('serves through a server with mutual TLS', async () => {
    const [own, theirs] = [selfSignedCertificate(), selfSignedCertificate()];
    const [ca, serverKey] = [file('server.pem', theirs.cert), file('server.key', theirs.key)];
    const [cert, key] = [file('own.pem', own.cert), file('own.key', own.key)];
    await using server = await startServer(() => undefined, {
      ...REMOTE,
      grpcUseSslMutual: true,
      grpcServerCert: ca,
      grpcServerKey: serverKey,
      grpcRootCert: cert,
    });
    const url = server.grpc.replace(/^.*:/, 'grpcs://localhost:');
    const files = ['--remote-ca', ca, '--remote-cert', cert, '--remote-key', key];
    const binder = serve(MODEL, '--remote', url, ...TOKEN, ...files);
    await binder.wrote(`serving Twice through ${url}`);
    const { outputs } = await inferJson(server.http, 'Twice', [
      { name: 'x', datatype: 'INT32', shape: [1, 1], data: [-8] },
    ]);
    expect(outputs[0]!.data).toEqual([-16]);
    binder.kill('SIGINT');
    expect(await binder.ended).toBe(0);
  });

  it('names its own flags where TLS fails', async () => {
    const [own, theirs, trusted] = [selfSignedCertificate(), selfSignedCertificate(), selfSignedCertificate()];
    const ca = file('theirs.pem', theirs.cert);
    await using server = await startServer(() => undefined, {
      ...REMOTE,
      grpcUseSslMutual: true,
      grpcServerCert: ca,
      grpcServerKey: file('theirs.key', theirs.key),
      grpcRootCert: file('trusted.pem', trusted.cert),
    });
    const remote = ['--remote', server.grpc.replace(/^.*:/, 'grpcs://localhost:'), ...TOKEN];
    const unknown = serve(MODEL, ...remote);
    expect(await unknown.ended).toBe(1);
    expect(unknown.output).toContain('self-signed certificate; to trust it, give it to --remote-ca\n');
    const files = ['--remote-cert', file('mine.pem', own.cert), '--remote-key', file('mine.key', own.key)];
    const untrusted = serve(MODEL, ...remote, '--remote-ca', ca, ...files);
    expect(await untrusted.ended).toBe(1);
    expect(untrusted.output).toContain('does it trust the certificate of --remote-cert?\n');
  });

  it.each<[string, (pem: Pem) => readonly string[], string]>([
    [
      'a certificate alone',
      ({ cert }) => ['--remote-cert', cert],
      'expected --remote-cert and --remote-key together, got: only cert',
    ],
    [
      'a key of another',
      ({ cert, other }) => ['--remote-cert', cert, '--remote-key', other],
      '--remote-key: expected the key of the certificate',
    ],
    ['a certificate for a key', ({ cert }) => ['--remote-key', cert], 'It has no unencrypted private key in PEM form.'],
    ['a file that is not there', () => ['--remote-ca', '/none.pem'], 'ENOENT'],
    [
      'a URL without TLS',
      ({ cert }) => ['--remote-ca', cert],
      '--remote-ca, --remote-cert and --remote-key need grpcs://, got',
    ],
  ])('is refused with %s', async (_, args, message) => {
    const pem = {
      cert: file('a.pem', selfSignedCertificate().cert),
      other: file('b.key', selfSignedCertificate().key),
    };
    const binder = serve(MODEL, '--remote', 'localhost:8001', ...TOKEN, ...args(pem));
    expect(await binder.ended).toBe(2);
    expect(binder.output).toContain(message);
  });

  it('has certificates only with --remote', async () => {
    const server = serve(MODEL, '--remote-ca', file('c.pem', selfSignedCertificate().cert));
    expect(await server.ended).toBe(2);
    expect(server.output).toContain('--remote-ca, --remote-cert and --remote-key are for --remote');
  });

  it('ends with the reason why the server refuses it', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const binder = serve(MODEL, '--remote', server.grpc, '--remote-access-token', 'guess');
    expect(await binder.ended).toBe(1);
    expect(binder.output).toContain("the access token is not the server's remoteAccessToken");
  });

  it.each<[string, readonly string[], string]>([
    ['no token', [], "--remote needs the server's token"],
    ['an option of a server', [...TOKEN, '--http-port', '9000'], '--http-port is for a server'],
    [
      'such an option in a file',
      [...TOKEN, '--config', CONFIG],
      'logInfo of the configuration file is for a server; the server at localhost:8001 has options of its own: name another file by --config',
    ],
    ['--watch', [...TOKEN, '--watch'], '--watch is not for --remote'],
    ['no address for instances', ['--engine', 'tritonserver'], 'needs --instance-address'],
    [
      'an address for instances',
      [...TOKEN, '--instance-address', '/a'],
      '--instance-address needs --engine tritonserver',
    ],
  ])('is refused with %s', async (_, args, message) => {
    const binder = serve(MODEL, '--remote', 'localhost:8001', ...args);
    expect(await binder.ended).toBe(2);
    expect(binder.output).toContain(message);
  });
});
