// The processes of one suite, or of one row of it: started one after the other, and ended together.

import { BenchProcess } from './bench-process.js';

export class StartedProcesses {
  readonly #started: { stop(): Promise<void> }[] = [];

  /** Starts a module of this folder, compiled. */
  async start(module: string, cpus: string | undefined, ...parameters: readonly string[]): Promise<BenchProcess> {
    const one = await BenchProcess.start(new URL(module, import.meta.url), { cpus, arguments: parameters });
    this.#started.push(one);
    return one;
  }

  /** Another one that is to be ended with them. */
  add(one: { stop(): Promise<void> }): void {
    this.#started.push(one);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.splice(0).map((one) => one.stop()));
  }
}
