import type { Frontend } from './frontend.js';

/** The members of a wire's port that a frontend gives to the server as they are. */
type ListeningPort = Pick<Frontend, 'connections' | 'underWay' | 'awaited' | 'retire' | 'drain' | 'settled'>;

/** A frontend on one port, which it opens with its start. */
export abstract class PortFrontend<Port extends ListeningPort> implements Frontend {
  abstract readonly name: string;
  protected port: Port | undefined;

  abstract start(): Promise<number>;

  abstract close(): Promise<void>;

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
