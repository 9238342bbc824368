// The HTTP frontend on requests that come over no socket: all that it needs of HTTP is the contract.
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { FakeExchange, FakeRequest } from '../../../test/support/fake-exchange.js';
import { MODEL } from '../../../test/support/scripted-core.js';
import type { ResolvedModel } from '../../core/model-entry.js';
import type { ResponseSink } from '../../core/response-sink.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import type { ServedCore } from '../served-core.js';
import { serveWith } from './http-frontend.js';
import { HttpService } from './http-service.js';

const nothing = () => undefined;
const logger = { error: nothing, warn: nothing, info: nothing, verbose: nothing };

interface Taken {
  readonly request: ModelInferRequest;
  readonly sink: ResponseSink;
  readonly load: number | undefined;
  cancelled: boolean;
}

/** A frontend over a model whose configuration and load tests change. */
class FakeFrontend {
  model: { readonly config: CompleteModelConfig; readonly load: number };
  /** Told each time that somebody asks whether a model is still served, as when a request has been decoded for it. */
  onDecoded = (): void => undefined;
  readonly taken: Taken[] = [];
  readonly #service: HttpService;

  constructor(config: Partial<CompleteModelConfig> = {}, maxInputSize = 1_000_000) {
    this.model = { config: { ...MODEL, ...config }, load: 1 };
    const core = {
      resolve: () => this.#resolved(),
      infer: (request: ModelInferRequest, sink: ResponseSink, load?: number) => {
        const taken: Taken = { request, sink, load, cancelled: false };
        this.taken.push(taken);
        return { cancel: () => (taken.cancelled = true) };
      },
    };
    this.#service = new HttpService({ server: core as unknown as ServedCore, maxInputSize });
  }

  #resolved(): ResolvedModel {
    const { config, load } = this.model;
    const isCurrent = () => {
      this.onDecoded();
      return load === this.model.load;
    };
    return {
      config,
      load,
      get isServed() {
        return isCurrent();
      },
    };
  }

  /** Asks for something; the whole body is there. */
  ask(target: string, body: string, { chunked = false } = {}): FakeExchange {
    const exchange = new FakeExchange(new FakeRequest('POST', target, chunked ? {} : { bodyLength: body.length }));
    serveWith(this.#service, { logger }, exchange);
    exchange.plan?.onBody(Buffer.from(body));
    return exchange;
  }
}

const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}';

function responseTo({ request }: Taken): ModelInferResponse {
  const outputs = request.inputs.map((input) => ({ ...input, name: 'y' }));
  return { modelName: request.modelName, modelVersion: '1', id: request.id, parameters: undefined, outputs };
}

describe('a request without a socket', () => {
  it.each([false, true])('is read and answered: chunked %s', (chunked) => {
    const frontend = new FakeFrontend();
    const answer = frontend.ask('/v2/models/m/infer', BODY, { chunked });
    expect(answer.begun).toBe(false);
    const [taken] = frontend.taken;
    void taken!.sink.respond(responseTo(taken!), true);
    expect([answer.status, answer.headers.slice(0, 2), answer.ended]).toEqual([
      200,
      ['Content-Type', 'application/json'],
      true,
    ]);
    expect(JSON.parse(answer.body)).toMatchObject({ outputs: [{ name: 'y', data: [1, 2] }] });
  });

  it('is cancelled when its client hangs up', () => {
    const frontend = new FakeFrontend();
    const answer = frontend.ask('/v2/models/m/infer', BODY);
    answer.abort();
    expect(frontend.taken.map(({ cancelled }) => cancelled)).toEqual([true]);
  });

  it.each([
    [true, 20],
    [false, 2 ** 31],
  ])('is taken up to a size: chunked %s, %d bytes', (chunked, limit) => {
    const answer = new FakeFrontend({}, 20).ask('/v2/models/m/infer', '{"inputs":[]}', { chunked });
    expect(answer.plan?.limit).toBe(limit);
  });

  it('streams its answers no faster than the reader takes them', async () => {
    const frontend = new FakeFrontend({ decoupled: true });
    const answer = frontend.ask('/v2/models/m/generate_stream', '{"x":1}');
    const [taken] = frontend.taken;
    let read!: () => void;
    answer.room = new Promise<void>((resolve) => (read = resolve));
    let told = false;
    const room = Promise.resolve(taken!.sink.respond(responseTo(taken!), false)).then(() => (told = true));
    await nextTurn();
    expect([answer.status, answer.parts.length, told]).toEqual([200, 1, false]);
    read();
    await room;
    taken!.sink.complete();
    expect([answer.ended, told]).toEqual([true, true]);
  });
});

describe('a model that is replaced while a request for it is decoded', () => {
  it('gives its request to its successor, for which it is decoded anew', () => {
    const frontend = new FakeFrontend();
    const [input] = MODEL.inputs;
    frontend.onDecoded = () => {
      frontend.model = { config: { ...MODEL, inputs: [{ ...input!, dtype: 'float64', datatype: 'FP64' }] }, load: 2 };
    };
    frontend.ask('/v2/models/m/generate', '{"x":1}');
    expect(frontend.taken.map(({ load, request }) => [load, request.inputs[0]?.datatype])).toEqual([[2, 'FP64']]);
  });

  it('gives it up where its successor refuses the request', () => {
    const frontend = new FakeFrontend();
    frontend.onDecoded = () => {
      frontend.model = { config: { ...MODEL, decoupled: true }, load: 2 };
    };
    const answer = frontend.ask('/v2/models/m/infer', BODY);
    expect([answer.status, frontend.taken]).toEqual([501, []]);
    expect(answer.body).toContain("doesn't support models with decoupled transaction policy");
  });
});
