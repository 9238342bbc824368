// Certificates that are renewed while the server runs: in the folder of a Secret that Kubernetes mounts, and file by file.
import { X509Certificate } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';

import { describe, expect, it, vi } from 'vitest';

import { defineModel, type TritonError } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { selfSignedCertificate, type SelfSignedCertificate } from '../support/self-signed-certificate.js';
import { startServer } from '../support/start-server.js';
import { emptyFolder } from '../support/temporary-files.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const MODEL = defineModel({ modelName: 'Same', inputs: { x: FLOATS }, outputs: { y: FLOATS } });
const LINES = {
  used: 'new connections use the files as they are now',
  refused:
    'the changed files are not used, new connections go on with the former ones: httpServerKey: expected the key of',
} as const;

/** A folder as Kubernetes mounts a Secret: links to files behind a link that each change sets elsewhere. */
function mountedSecret() {
  const folder = emptyFolder('tstriton-secret-');
  const paths = (name: string) => join(folder, name);
  let version = 0;
  const replace = (files: Readonly<Record<string, string>>) => {
    const before = version++;
    mkdirSync(paths(`..${version}`));
    for (const [name, text] of Object.entries(files)) writeFileSync(paths(`..${version}/${name}`), text);
    symlinkSync(`..${version}`, paths('..data_tmp'));
    renameSync(paths('..data_tmp'), paths('..data'));
    if (before === 0) for (const name of Object.keys(files)) symlinkSync(`..data/${name}`, paths(name));
    else rmSync(paths(`..${before}`), { recursive: true });
  };
  return { paths, replace };
}

/** The certificate that a new connection sees. */
async function shownBy(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2', 'http/1.1'], rejectUnauthorized: false });
  const shown = await new Promise<string>((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket.getPeerCertificate().fingerprint256));
    socket.once('error', reject);
  });
  // The server refuses it, for it shows no certificate.
  socket.on('error', () => undefined).destroy();
  return shown;
}

const fingerprint = ({ cert }: SelfSignedCertificate) => new X509Certificate(cert).fingerprint256;

describe.each([{ serverThread: true }, { serverThread: false }])('a certificate that is renewed, with %o', (config) => {
  it('is for new connections of both wires, once it is whole', async () => {
    const [first, second, third] = [selfSignedCertificate(), selfSignedCertificate(), selfSignedCertificate()];
    const [ann, bob] = [selfSignedCertificate(), selfSignedCertificate()];
    const { paths, replace } = mountedSecret();
    const secret = ({ cert, key }: SelfSignedCertificate, known: SelfSignedCertificate) =>
      replace({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': known.cert });
    const lines: string[] = [];
    const note = (line: string) => void (line.startsWith('TLS of the ') && lines.push(line));
    secret(first, ann);
    const [cert, key, roots] = [paths('tls.crt'), paths('tls.key'), paths('ca.crt')];
    await using server = await startServer((triton) => void triton.bind({ ...MODEL, inferFunc: (all) => all }), {
      ...config,
      logger: { debug: note, info: note, warn: note, error: note },
      httpUseSslMutual: true,
      httpServerCert: cert,
      httpServerKey: key,
      httpRootCert: roots,
      grpcUseSslMutual: true,
      grpcServerCert: cert,
      grpcServerKey: key,
      grpcRootCert: roots,
    });
    const { httpPort, grpcPort } = server.triton;
    const urls = [`https://localhost:${httpPort}`, `grpcs://localhost:${grpcPort}`];
    const shown = async () => [await shownBy(httpPort!), await shownBy(grpcPort!)];
    const becomes = (next: SelfSignedCertificate) =>
      vi.waitFor(async () => expect(await shown()).toEqual([fingerprint(next), fingerprint(next)]), WAIT_MILLISECONDS);
    const open = (url: string, who: SelfSignedCertificate, trusted: SelfSignedCertificate) =>
      new ModelClient(url, MODEL, { tls: { ca: trusted.cert, cert: who.cert, key: who.key }, retry: false });
    const ask = async (client: ReturnType<typeof open>, value: number) =>
      [...(await client.inferSample({ x: [value] })).y!.data][0];
    /** Asks once, over a connection of its own. */
    const asked = async (url: string, who: SelfSignedCertificate, trusted: SelfSignedCertificate) => {
      await using client = open(url, who, trusted);
      return await ask(client, 7).catch((error: TritonError) => error.code);
    };

    await using http = open(urls[0]!, ann, first);
    await using grpc = open(urls[1]!, ann, first);
    expect([await ask(http, 1), await ask(grpc, 2)]).toEqual([1, 2]);

    secret(second, bob);
    await becomes(second);
    // These trust the first one alone: another connection would fail.
    expect([await ask(http, 3), await ask(grpc, 4)]).toEqual([3, 4]);
    for (const url of urls) {
      expect(await asked(url, bob, second)).toBe(7);
      expect(await asked(url, ann, second)).toBe('UNAVAILABLE');
      expect(await asked(url, bob, first)).toBe('UNAVAILABLE');
    }

    writeFileSync(cert, third.cert);
    await vi.waitFor(() => expect(lines).toHaveLength(4), WAIT_MILLISECONDS);
    expect(await shown()).toEqual([fingerprint(second), fingerprint(second)]);
    for (const url of urls) expect(await asked(url, bob, second)).toBe(7);
    writeFileSync(key, third.key);
    await becomes(third);
    for (const url of urls) expect(await asked(url, bob, third)).toBe(7);
    await vi.waitFor(() => expect(lines).toHaveLength(6), WAIT_MILLISECONDS);
    for (const port of ['http', 'grpc']) {
      const start = `TLS of the ${port} port: `;
      const refused = start + LINES.refused.replace('http', port);
      const own = lines.filter((line) => line.startsWith(start)).map((line) => line.slice(0, refused.length));
      expect(own).toEqual([start + LINES.used, refused, start + LINES.used]);
    }
  });
});
