// The server of a matrix, with all that may happen to it meanwhile: models bound anew, threads that end, stops and new starts.
import { Triton } from 'tstriton';

import { MatrixMemory } from '../../fixtures/matrix-instance.js';
import { FREE_PORTS, type RunningServer } from '../start-server.js';
import { bindModel, MODEL_NAMES, rebindModel } from './matrix-models.js';
import { HEADER, type ModelName } from './question.js';

const FORWARDED = `^${HEADER}$`;

export class MatrixServer implements RunningServer {
  readonly triton: Triton;
  readonly memory: MatrixMemory;
  http = '';
  grpc = '';
  metrics = '';
  /** From the beginning of a stop until the server runs again. */
  isRestarting = false;
  /** How many threads were told to end. */
  kills = 0;
  restarts = 0;

  /** `requests`: how many may be numbered. */
  constructor(requests: number, serverThread: boolean) {
    this.memory = MatrixMemory.create(requests);
    this.triton = new Triton({
      ...FREE_PORTS,
      serverThread,
      httpHeaderForwardPattern: FORWARDED,
      grpcHeaderForwardPattern: FORWARDED,
      cacheConfig: 'local,size=4194304',
      restrictedEndpoints: [],
    });
    for (const name of MODEL_NAMES) bindModel(this.triton, name, this.memory);
  }

  async start(): Promise<void> {
    await this.triton.run();
    const { httpPort, grpcPort, metricsPort } = this.triton;
    this.http = `http://127.0.0.1:${httpPort}`;
    this.grpc = `grpc://127.0.0.1:${grpcPort}`;
    this.metrics = `http://127.0.0.1:${metricsPort}/metrics`;
  }

  async rebind(name: ModelName): Promise<void> {
    try {
      await rebindModel(this.triton, name, this.memory);
    } catch (error) {
      if (!this.isRestarting) throw error;
    }
  }

  /** Ends a thread in the middle of a batch. */
  async kill(): Promise<void> {
    this.kills++;
    const inputs = [
      { name: 'x', datatype: 'UINT8', shape: [1, 1], data: [0] },
      { name: 'note', datatype: 'BYTES', shape: [1, 1], data: ['end'] },
    ];
    await fetch(`${this.http}/v2/models/Threads/infer`, {
      method: 'POST',
      body: JSON.stringify({ parameters: { exits: true }, inputs }),
    }).then(
      (answer) => answer.arrayBuffer(),
      () => undefined,
    );
  }

  /** Stops in the middle of everything, and runs again on other ports. */
  async restart(): Promise<void> {
    this.isRestarting = true;
    try {
      await this.triton.stop();
      await this.start();
      this.restarts++;
    } finally {
      this.isRestarting = false;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.triton.stop();
  }
}
