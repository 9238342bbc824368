import type { Logger } from '../observability/logger.js';
import type { Frontend } from './frontend.js';
import type { PortTls, TlsFiles } from './port-tls.js';
import { TlsRenewal } from './tls-renewal.js';

/** The members of a wire's port that a frontend gives to the server as they are. */
type ListeningPort = Pick<Frontend, 'connections' | 'underWay' | 'awaited' | 'retire' | 'drain' | 'settled'> & {
  /** TLS of connections from now on. */
  renewTls(tls: PortTls): void;
};

/** A frontend on one port, which it opens with its start. */
export abstract class PortFrontend<Port extends ListeningPort> implements Frontend {
  abstract readonly name: string;
  protected port: Port | undefined;
  #renewal: TlsRenewal | undefined;

  abstract start(): Promise<number>;

  close(): Promise<void> {
    this.#renewal?.close();
    return this.closePort();
  }

  protected abstract closePort(): Promise<void>;

  /** TLS for the port that opens, which follows changes of the files from now on. Rejects with INVALID_ARG when they cannot be used. */
  protected async readTls(files: TlsFiles | undefined, logger: Logger): Promise<PortTls | undefined> {
    if (files === undefined) return undefined;
    this.#renewal = new TlsRenewal({ files, logger, use: (tls) => this.port?.renewTls(tls) });
    return this.#renewal.begin();
  }

  get connections(): number {
    return this.port?.connections ?? 0;
  }

  get underWay(): number {
    return this.port?.underWay ?? 0;
  }

  get awaited(): number {
    return this.port?.awaited ?? 0;
  }

  retire(): void {
    this.port?.retire();
  }

  drain(): void {
    this.port?.drain();
  }

  async settled(): Promise<void> {
    await this.port?.settled();
  }
}
