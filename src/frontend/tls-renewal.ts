// Follows the files of a port's TLS, so that a renewed certificate is served without a restart. It looks at them again and again,
// because `fs.watch` does not notice when Kubernetes points the link above the files of a Secret elsewhere.

import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';

import { TritonError } from '../errors.js';
import type { Logger } from '../observability/logger.js';
import { type PortTls, readPortTls, type TlsFiles } from './port-tls.js';

const LOOK_MILLISECONDS = 1000;

export interface TlsRenewalOptions {
  readonly files: TlsFiles;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Gets the certificates of the changed files, for connections from now on. */
  readonly use: (tls: PortTls) => void;
}

export class TlsRenewal {
  readonly #options: TlsRenewalOptions;
  readonly #paths: readonly string[];
  #tls: PortTls | undefined;
  /** The look of the files when {@link #tls} was read. */
  #used = '';
  /** Their look the last time. */
  #seen = '';
  /** Why they cannot be used, which the log has already. */
  #complaint: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: TlsRenewalOptions) {
    const { serverCert, serverKey, rootCert } = options.files;
    this.#options = options;
    this.#paths = [serverCert, serverKey, rootCert].filter((path) => path !== undefined);
  }

  /** Reads the files, and looks at them from now on. Rejects with INVALID_ARG that names the option, the file and the reason. */
  async begin(): Promise<PortTls> {
    // Before they are read: a change in between shows at the next look.
    this.#seen = this.#used = (await lookAt(this.#paths)) ?? '';
    this.#tls = readPortTls(this.#options.files);
    this.#schedule();
    return this.#tls;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Uses the files when they have changed, are the same as at the last look, and fit together. */
  async look(): Promise<void> {
    const before = this.#seen;
    const seen = (await lookAt(this.#paths)) ?? this.#used;
    if (this.#isClosed) return;
    this.#seen = seen;
    if (seen === this.#used) this.#complaint = undefined;
    // Otherwise somebody may be writing them, one after the other.
    else if (seen === before) this.#read(seen);
  }

  /** What fails is tried again at the next look: the reason may lie elsewhere than in the files. */
  #read(seen: string): void {
    const { files, logger, use } = this.#options;
    const port = `TLS of the ${files.port} port`;
    try {
      const tls = readPortTls(files);
      if (!isDeepStrictEqual(tls, this.#tls)) {
        use(tls);
        logger.info(`${port}: new connections use the files as they are now`);
      }
      this.#tls = tls;
      this.#used = seen;
      this.#complaint = undefined;
    } catch (error) {
      const { message } = TritonError.from(error);
      if (message !== this.#complaint)
        logger.warn(`${port}: the changed files are not used, new connections go on with the former ones: ${message}`);
      this.#complaint = message;
    }
  }

  /** After each look, so that looks never overlap. */
  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.look().then(() => this.#schedule()), LOOK_MILLISECONDS).unref();
  }
}

/** Text that changes with the files. Undefined: one of them cannot be read again, such as a pipe. */
async function lookAt(paths: readonly string[]): Promise<string | undefined> {
  const looks = paths.map(async (path) => {
    try {
      const found = await stat(path);
      return found.isFile() ? [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs].join(' ') : undefined;
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code);
    }
  });
  const seen = await Promise.all(looks);
  return seen.includes(undefined) ? undefined : seen.join('\n');
}
