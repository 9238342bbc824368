// A server on this machine, with the tensors of its inferences in system shared memory. Clients take it in the place of a URL.

import { TritonError } from '../../errors.js';
import { expectAtLeast, expectObject } from '../../checks/check.js';
import { completeClientOptions, type ServerClientOptions } from '../client-options.js';
import { serverTarget, SharedServer, type ServerTarget } from '../in-process-server.js';
import { SharedMemoryTransport } from './shared-memory-transport.js';

export interface SharedMemoryOptions extends ServerClientOptions {
  /**
   * The outputs that an inference asks for when it names none, and how many bytes one answer of each may have, all rows of a batch
   * together. An answer that is larger is refused with INVALID_ARG. Outputs without an entry come with the answer, as they do without
   * shared memory. Default: none.
   */
  readonly outputs?: Readonly<Record<string, number>>;
  /** How many bytes of /dev/shm all requests under way may take; more of them wait for room. Default: 256 MiB. */
  readonly maxBytes?: number;
}

const DEFAULT_MAX_BYTES = 2 ** 28;

/**
 * A server on this machine, in the place of a client's URL. Inputs of `inferSample` and `inferBatch` go through system shared memory
 * (POSIX, Linux), and so do the outputs that have room there. Streams do not. Regions are registered as they are needed, and
 * unregistered by `close`. Close the clients first.
 *
 * @example
 * await using memory = new SharedMemory('grpc://localhost', { outputs: { scores: 4000 }, accessToken });
 * await using client = new ModelClient(memory, resnet);
 */
export class SharedMemory extends SharedServer {
  /** `url` as for ModelClient. Nothing is sent yet. Throws INVALID_ARG, and UNSUPPORTED on systems other than Linux. */
  constructor(url: string, options: SharedMemoryOptions = {}) {
    if (process.platform !== 'linux') {
      throw new TritonError(
        'UNSUPPORTED',
        `shared memory of clients is supported on Linux only, this process runs on ${process.platform}`,
      );
    }
    expectObject(options, 'options of SharedMemory');
    const { outputs, maxBytes = DEFAULT_MAX_BYTES, ...ofClient } = options;
    const target = serverTarget(url);
    const complete = completeClientOptions(ofClient, target.protocol, 'server');
    const limits = {
      rooms: checkRooms(outputs ?? {}),
      maxBytes: expectAtLeast(maxBytes, 4096, 'maxBytes'),
      headers: complete.headers,
    };
    const shared: ServerTarget = {
      protocol: target.protocol,
      address: target.address,
      open(given) {
        const open = target.open(given);
        const transport = new SharedMemoryTransport(open.transport, target.address, limits);
        return { transport, turns: open.turns, close: () => transport.close() };
      },
    };
    super(shared, complete);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function checkRooms(outputs: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  expectObject(outputs, 'outputs');
  const rooms = Object.entries(outputs).map(
    ([name, bytes]) => [name, expectAtLeast(bytes, 1, `outputs['${name}']`)] as const,
  );
  return new Map(rooms);
}
