// The models that one call needs, each with an instance in this thread: the engine's own validation, execution and
// calls between models, without ports, queues and other clients.

import { type CalledEngine, callModel } from '../core/call-model.js';
import type { Execution, ExecutionDone, ModelInstance } from '../core/instance/model-instance.js';
import { Model } from '../core/model.js';
import { serverStopping } from '../core/refusals.js';
import type { InflightRequest, ResponseSink } from '../core/response-sink.js';
import { TritonError } from '../errors.js';
import { hostedCallable, type HostedCallable } from '../host/callable-turns.js';
import { InlineInstance } from '../link/inline-instance.js';
import type { Awaitable } from '../model/awaitable.js';
import type { Callable, ModelSpec } from '../model/callable.js';
import { checkCallables } from '../model/check-callables.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { ModelInferRequest } from '../model/exchange.js';
import { isInstanceGroup } from '../model/instance-group.js';
import { instanceLogger, type Logger } from '../observability/logger.js';
import { runSetup, setupContext, type Setup } from '../model/run-setup.js';
import { sequenceStateSource } from '../model/sequence-state-source.js';

/** A bound model, whatever its tensors. */
export interface TestedModel extends ModelSpec {
  readonly inferFunc: unknown;
  readonly setup?: Setup;
  readonly teardown?: () => Awaitable<void>;
}

/** A model that was set up. */
interface Served {
  readonly model: Model;
  readonly teardown: (() => Awaitable<void>) | undefined;
}

export class TestedModels implements CalledEngine {
  readonly #served: Served[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Checks a model as `bind` does, and sets it up. */
  async add(model: TestedModel): Promise<CompleteModelConfig> {
    const [callable] = checkCallables(model.inferFunc, model.modelName);
    const config = completeModelConfig(model, 1);
    checkCallables(model.inferFunc, model.modelName, config);
    if (isInstanceGroup(callable)) {
      throw new TritonError(
        'UNSUPPORTED',
        `call runs callables of this thread, and model '${config.name}' has an instanceGroup; import its module, and give the default export as inferFunc`,
      );
    }
    const { setup, teardown } = model;
    const logger = instanceLogger(this.#logger, config, 0);
    const { signal } = new AbortController();
    await runSetup(setup, setupContext(config, { instance: 0, args: undefined, logger, signal }));
    const state = sequenceStateSource(model.config?.sequenceBatching);
    const hosted = hostedCallable(callable as Callable, config.concurrency, state);
    this.#served.push({ model: this.#serve(config, hosted, logger), teardown });
    return config;
  }

  /** A request is a batch of its own: it waits for no others. */
  #serve(config: CompleteModelConfig, hosted: HostedCallable, logger: Logger): Model {
    const model = new Model({ ...config, dynamicBatching: undefined, responseCache: false });
    const instance = new InlineInstance(config, hosted, { logger });
    instance.caller = (call, sink) => callModel(this, call, sink);
    model.addInstance({
      execute: (...execution) => this.#run(instance, ...execution),
      endSequence: (serial, reason) => instance.endSequence(serial, reason),
    });
    return model;
  }

  #run(instance: ModelInstance, ...[batch, done, stream]: Parameters<ModelInstance['execute']>): Execution {
    let ended!: () => void;
    const running = new Promise<void>((resolve) => (ended = resolve));
    this.#running.add(running);
    const end: ExecutionDone = (...results) => {
      this.#running.delete(running);
      ended();
      done(...results);
    };
    return instance.execute(batch, end, stream);
  }

  resolve(name: string, version: string): { readonly config: CompleteModelConfig; readonly load: number } {
    return { config: this.#find(name, version).config, load: 0 };
  }

  infer(request: ModelInferRequest, sink: ResponseSink): InflightRequest {
    return this.#find(request.modelName, request.modelVersion).infer(request, sink);
  }

  /** Tears the models down, the last one first, once their callables have come to an end or where that is not waited for. */
  async close(waits: boolean): Promise<void> {
    if (waits) await Promise.all(this.#running);
    for (const { model, teardown } of this.#served.splice(0).reverse()) {
      // Its live sequences end.
      if (model.config.sequenceBatching !== undefined) model.stop(serverStopping(undefined));
      await teardown?.();
    }
  }

  /** Version '' is the latest. */
  #find(name: string, version: string): Model {
    const found = this.#served
      .map(({ model }) => model)
      .filter(({ config }) => config.name === name && (version === '' || String(config.version) === version))
      .sort((a, b) => b.config.version - a.config.version)[0];
    if (found !== undefined) return found;
    const which = version === '' ? `'${name}'` : `'${name}' version ${version}`;
    throw new TritonError(
      'NOT_FOUND',
      `Request for unknown model: ${which} is not found; a call knows the model that is called and its option models`,
    );
  }
}
