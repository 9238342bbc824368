// A transport that puts the tensors of inferences into shared memory. Streams and questions to the server go as without it.

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import type { ClassifiedRequest } from '../../protocol/classified-request.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import type * as wire from '../../protocol/protobuf/generated/grpc-service.js';
import { DATATYPE_BYTE_SIZE, isDatatype } from '../../tensor/dtype.js';
import { BytesScan } from '../../tensor/raw.js';
import { elementCount } from '../../tensor/shape.js';
import { Call } from '../call.js';
import { registerSharedMemory, unregisterSharedMemory } from '../server/server-operations.js';
import type { ServerOperation } from '../server/server-operation.js';
import type { Headers, ModelReference, RequestStream, ResponseStream, Transport } from '../transport.js';
import { layOut, sharedInference, type Layout, type Place } from './shared-request.js';
import type { SharedSlot } from './shared-slot.js';
import { SharedSlots } from './shared-slots.js';
import { Unregistering, UNREGISTER_MS } from './unregistering.js';

export interface SharedMemoryLimits {
  /** The bytes for an answer's outputs, by name. */
  readonly rooms: ReadonlyMap<string, number>;
  readonly maxBytes: number;
  /** Sent with each request. */
  readonly headers: Headers;
}

/** A server refuses a request with these codes before it runs, and does not write to the request's memory later. */
const REFUSALS: ReadonlySet<string> = new Set(['INVALID_ARG', 'NOT_FOUND']);

export class SharedMemoryTransport implements Transport {
  readonly requestStream?: (call: Call, headers: Headers) => RequestStream;
  readonly #transport: Transport;
  readonly #limits: SharedMemoryLimits;
  readonly #unregistering: Unregistering;
  readonly #slots: SharedSlots;

  /** Takes ownership of the transport. */
  constructor(transport: Transport, address: string, limits: SharedMemoryLimits) {
    const { headers } = limits;
    this.#transport = transport;
    this.#limits = limits;
    this.#unregistering = new Unregistering(async (name) => {
      const call = new Call({ timeoutMs: UNREGISTER_MS, signals: [], subject: `the server at ${address}` });
      try {
        await transport.ask(unregisterSharedMemory(name), call, headers);
      } finally {
        call.end();
      }
    });
    this.#slots = new SharedSlots(
      {
        register: async (region, call) => {
          try {
            await transport.ask(registerSharedMemory(region), call, headers);
          } catch (error) {
            throw explained(TritonError.from(error), address);
          }
        },
        unregister: (name) => this.#unregistering.end(name),
      },
      limits.maxBytes,
    );
    if (transport.requestStream !== undefined) {
      this.requestStream = (call, given) => this.#open.requestStream!(call, { ...headers, ...given });
    }
  }

  async infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    const layout = layOut(request, this.#limits.rooms);
    if (layout.byteSize === 0) return this.#open.infer(request, call, { ...this.#limits.headers, ...headers });
    try {
      return await this.#infer(request, layout, call, headers);
    } catch (error) {
      // Another server is there: it refused the request before it ran.
      if (!isLostRegion(error)) throw error;
      this.#slots.forget();
      call.throwIfAborted();
      return this.#infer(request, layout, call, headers);
    }
  }

  stream(request: ClassifiedRequest, model: ModelSignature, call: Call, headers: Headers): ResponseStream {
    return this.#open.stream(request, model, call, { ...this.#limits.headers, ...headers });
  }

  async modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature> {
    return this.#open.modelSignature(model, call, { ...this.#limits.headers, ...headers });
  }

  async ask<Answer extends object>(operation: ServerOperation<Answer>, call: Call, headers: Headers): Promise<Answer> {
    return this.#open.ask(operation, call, { ...this.#limits.headers, ...headers });
  }

  async close(): Promise<void> {
    this.#unregistering.hurry();
    await this.#slots.close();
    await this.#transport.close();
  }

  /** Clients may outlive the memory. */
  get #open(): Transport {
    this.#slots.expectOpen();
    return this.#transport;
  }

  async #infer(request: ClassifiedRequest, layout: Layout, call: Call, headers: Headers): Promise<ModelInferResponse> {
    const slot = await this.#slots.take(layout.byteSize, call);
    let isDone = false;
    try {
      for (const [{ bytes }, { offset }] of layout.inputs) await slot.write(bytes, offset);
      call.throwIfAborted();
      const asked = sharedInference(request, layout, slot.name);
      const answer = await this.ask(asked, call, headers);
      const response = await readAnswer(answer, layout, slot);
      isDone = true;
      return response;
    } catch (error) {
      isDone = !call.error && REFUSALS.has(TritonError.from(error).code) && !isLostRegion(error);
      throw error;
    } finally {
      if (isDone) this.#slots.give(slot);
      else this.#slots.abandon(slot);
    }
  }
}

function isLostRegion(error: unknown): boolean {
  return TritonError.is(error) && error.message.includes("Unable to find shared memory region: 'tstriton_");
}

function explained(error: TritonError, address: string): TritonError {
  if (!error.message.includes('Unable to open shared memory region')) return error;
  const message =
    `the server at ${address} cannot open shared memory of this machine: ` +
    `expected a server of this machine and this user, which sees the same /dev/shm (${error.message})`;
  return new TritonError(error.code, message, { cause: error });
}

async function readAnswer(
  answer: wire.ModelInferResponse,
  layout: Layout,
  slot: SharedSlot,
): Promise<ModelInferResponse> {
  const places = new Map(layout.outputs.map(({ name, place }) => [name, place]));
  const outputs: InferTensor[] = [];
  for (const [index, { name, datatype, shape }] of answer.outputs.entries()) {
    if (!isDatatype(datatype)) {
      throw new TritonError('INTERNAL', `output '${name}' of the response has unknown datatype '${datatype}'`);
    }
    const place = places.get(name);
    const dims = shape.map(Number);
    const bytes = place === undefined ? answer.rawOutputContents[index] : await readOutput(slot, place, datatype, dims);
    if (bytes === undefined) {
      throw new TritonError(
        'INTERNAL',
        `output '${name}' of the response has no data: expected an entry of raw_output_contents`,
      );
    }
    outputs.push({ name, datatype, shape: dims, bytes });
  }
  const { modelName, modelVersion, id } = answer;
  return { modelName, modelVersion, id, parameters: undefined, outputs };
}

/** How large strings are is known from their bytes alone. */
async function readOutput(
  slot: SharedSlot,
  { offset, byteSize }: Place,
  datatype: InferTensor['datatype'],
  shape: readonly number[],
): Promise<Uint8Array> {
  const count = elementCount(shape);
  if (datatype !== 'BYTES') return slot.read(offset, Math.min(count * DATATYPE_BYTE_SIZE[datatype], byteSize));
  const bytes = await slot.read(offset, byteSize);
  const scan = new BytesScan(bytes);
  scan.advance(count);
  return bytes.subarray(0, scan.offset);
}
