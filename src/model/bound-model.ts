// What `Triton.bind` takes: a declaration and what it is bound to.

import type { Awaitable } from './awaitable.js';
import type { Callable, MayStream, ModelSpec } from './callable.js';
import type { Settled } from './inference-hints.js';
import type { InstanceGroup } from './instance-group.js';
import type { LooseCallable } from './loose-callable.js';
import type { SetupContext } from './run-setup.js';
import type { TensorSpecs } from './tensor-spec.js';

type Instance<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean, Method extends string, Loose> =
  Callable<I, O, Decoupled, Method> | LooseCallable<Loose, I, O, Decoupled> | InstanceGroup;

/** A model with its callable: what `Triton.bind` takes. A list of callables makes as many instances. */
export type BoundModel<
  I extends TensorSpecs,
  O extends TensorSpecs,
  Decoupled extends boolean,
  Method extends string = string,
  Loose = never,
> = ModelSpec<I, O, Decoupled> & {
  readonly inferFunc:
    | Instance<Settled<I>, Settled<O>, MayStream<Settled<Decoupled>>, Method, Loose>
    | readonly Instance<Settled<I>, Settled<O>, MayStream<Settled<Decoupled>>, Method, Loose>[];
  /**
   * Runs before the model is served; when it fails, the load fails. For callables of this thread: a module of an
   * instance group exports its own.
   */
  readonly setup?: (context: SetupContext) => Awaitable<void>;
  /** Runs when the model is served no more. */
  readonly teardown?: () => Awaitable<void>;
};
