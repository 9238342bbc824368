import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { selfSignedCertificate, type SelfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import { emptyFolder } from '../../test/support/temporary-files.js';
import type { PortTls, TlsFiles } from './port-tls.js';
import { TlsRenewal } from './tls-renewal.js';

const first = selfSignedCertificate();
const second = selfSignedCertificate();
const third = selfSignedCertificate();
const stranger = selfSignedCertificate();
const NOT_USED = 'TLS of the http port: the changed files are not used, new connections go on with the former ones: ';
const USED = 'TLS of the http port: new connections use the files as they are now';

let writes = 0;
let folder: string;
let files: TlsFiles;
let log: string[];
let used: PortTls[];
let renewal: TlsRenewal;
beforeEach(() => {
  // The test looks by itself.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  folder = emptyFolder('tstriton-');
  const [serverCert, serverKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  files = { port: 'http', serverCert, serverKey, rootCert: undefined, mutual: false };
  log = [];
  used = [];
  writePair(first);
});
afterEach(() => {
  renewal.close();
  vi.useRealTimers();
});

/** With a time of its own, however fast one write follows the other. */
function write(path: string, text: string): void {
  writeFileSync(path, text);
  utimesSync(path, ++writes, writes);
}

function writePair({ cert, key }: SelfSignedCertificate): void {
  write(files.serverCert, cert);
  write(files.serverKey, key);
}

async function begin(of: TlsFiles = files): Promise<PortTls> {
  const logger = {
    info: (line: string) => void log.push(`info ${line}`),
    warn: (line: string) => void log.push(`warn ${line}`),
  };
  renewal = new TlsRenewal({ files: of, logger, use: (tls) => void used.push(tls) });
  return renewal.begin();
}

async function look(times: number): Promise<void> {
  for (let i = 0; i < times; i++) await renewal.look();
}

const certs = () => used.map(({ cert }) => cert.toString());

describe('renewed files of TLS', () => {
  it('are used once they are the same at two looks', async () => {
    expect((await begin()).cert.toString()).toBe(first.cert);
    await look(3);
    expect([used, log]).toEqual([[], []]);
    writePair(second);
    await look(1);
    expect(used).toEqual([]);
    await look(3);
    expect(certs()).toEqual([second.cert]);
    expect(used[0]!.key.toString()).toBe(second.key);
    expect(log).toEqual([`info ${USED}`]);
  });

  it('may be written one after the other, without a word about the time between', async () => {
    await begin();
    write(files.serverCert, second.cert.slice(0, 100));
    await look(1);
    write(files.serverCert, second.cert);
    await look(1);
    write(files.serverKey, second.key);
    await look(2);
    expect([certs(), log]).toEqual([[second.cert], [`info ${USED}`]]);
  });

  it('may lie behind a link that is set elsewhere, as in Kubernetes', async () => {
    const mount = (name: string, { cert, key }: SelfSignedCertificate) => {
      mkdirSync(join(folder, name));
      write(join(folder, name, 'tls.crt'), cert);
      write(join(folder, name, 'tls.key'), key);
      symlinkSync(name, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    mount('..1', first);
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name));
    await begin({ ...files, serverCert: join(folder, 'tls.crt'), serverKey: join(folder, 'tls.key') });
    mount('..2', second);
    rmSync(join(folder, '..1'), { recursive: true });
    await look(2);
    expect(certs()).toEqual([second.cert]);
  });

  it.each([
    ['do not fit together', () => write(files.serverCert, stranger.cert), 'httpServerKey: expected the key of '],
    ['are no certificate', () => write(files.serverCert, 'text'), 'httpServerCert: expected a certificate '],
    ['are no key', () => write(files.serverKey, 'text'), 'httpServerKey: expected an unencrypted private '],
    ['are missing', () => rmSync(files.serverKey), 'httpServerKey: cannot read '],
  ])('are not used while they %s, which is logged once', async (_, spoil, reason) => {
    await begin();
    for (const good of [second, third]) {
      log = [];
      used = [];
      spoil();
      await look(4);
      expect(used).toEqual([]);
      expect(log).toEqual([expect.stringMatching(`^warn ${NOT_USED}${reason}`)]);
      writePair(good);
      await look(2);
      expect(certs()).toEqual([good.cert]);
      expect(log.slice(1)).toEqual([`info ${USED}`]);
    }
  });

  it('are tried again where the reason lies elsewhere, such as too many open files', async () => {
    await begin();
    writePair(second);
    const use = vi.spyOn(used, 'push').mockImplementationOnce(() => {
      throw new Error('EMFILE');
    });
    await look(2);
    expect(log).toEqual([`warn ${NOT_USED}EMFILE`]);
    await look(1);
    use.mockRestore();
    expect([certs(), log.slice(1)]).toEqual([[second.cert], [`info ${USED}`]]);
  });

  it('are the roots of clients too', async () => {
    const rootCert = join(folder, 'roots.pem');
    write(rootCert, first.cert);
    expect((await begin({ ...files, rootCert, mutual: true })).ca?.toString()).toBe(first.cert);
    write(rootCert, second.cert);
    await look(2);
    expect(used.map(({ cert, ca }) => [cert.toString(), ca!.toString()])).toEqual([[first.cert, second.cert]]);
  });

  it('are nothing new when they say the same as before', async () => {
    await begin();
    writePair(first);
    await look(3);
    expect([used, log]).toEqual([[], []]);
  });

  it.skipIf(process.platform === 'win32')('are read once where they are pipes', async () => {
    await begin();
    const pipe = `${files.serverKey}.pipe`;
    execFileSync('mkfifo', [pipe]);
    renameSync(pipe, files.serverKey);
    write(files.serverCert, second.cert);
    // A read would wait for a writer for ever.
    await look(3);
    expect([used, log]).toEqual([[], []]);
  });

  it('are not looked at after the close', async () => {
    await begin();
    writePair(second);
    await look(1);
    const late = look(1);
    renewal.close();
    await late;
    expect([used, vi.getTimerCount()]).toEqual([[], 0]);
  });

  it('are looked at again and again', async () => {
    await begin();
    writePair(second);
    while (used.length === 0) {
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersToNextTimer();
      await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    }
    expect(certs()).toEqual([second.cert]);
  });

  it('do not begin with files that cannot be used', async () => {
    write(files.serverKey, second.key);
    await expect(begin()).rejects.toMatchObject({ code: 'INVALID_ARG' });
    expect(vi.getTimerCount()).toBe(0);
  });
});
