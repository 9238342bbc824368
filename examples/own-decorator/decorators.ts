// Three decorators of one's own. A decorator is a function that takes a function of a level and returns one of the same
// level, or of the level outside: `InferFunc` gets the requests of a batch, `TensorFunc` their tensors by name. The types
// of the model pass through I, O and Decoupled, so that the names and dtypes under the decorator are still checked.
import {
  mapOutputs,
  Tensor,
  TritonError,
  withRequests,
  withTensors,
  type Awaitable,
  type InferFunc,
  type InputName,
  type Result,
  type TensorFunc,
  type TensorSpecs,
} from 'tstriton';

/** Logs how many rows each result took and how long. Works for every form of function: `mapOutputs` sees to that. */
export function logged<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean>(
  fn: TensorFunc<I, O, Decoupled>,
): TensorFunc<I, O, Decoupled> {
  return (inputs, context) => {
    const startedAt = performance.now();
    const rows = Object.values<Tensor>(inputs)[0]?.rowCount ?? 0;
    return mapOutputs(fn(inputs, context), context, (outputs) => {
      const milliseconds = (performance.now() - startedAt).toFixed(1);
      context.logger.info(`${context.modelName}: ${rows} rows in ${milliseconds} ms`);
      return outputs;
    });
  };
}

/** Hands a float32 input on with its mean taken off, in units of its deviation. */
export function standardized<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean>(
  name: InputName<I>,
  { mean, deviation }: { readonly mean: number; readonly deviation: number },
  fn: TensorFunc<I, O, Decoupled>,
): TensorFunc<I, O, Decoupled> {
  return (inputs, context) => {
    const given = (inputs as Readonly<Record<string, Tensor>>)[name];
    if (given === undefined) return fn(inputs, context);
    if (given.dtype !== 'float32')
      throw new TritonError('INTERNAL', `standardized takes float32, '${name}' is ${given.dtype}`);
    const values = (given.data as Float32Array).map((value) => (value - mean) / deviation);
    return fn(withTensors(inputs, { [name]: new Tensor('float32', values, given.shape) }), context);
  };
}

/** Refuses requests without the parameter, each alone; the others of their batch are computed. */
export function requireParameter<I extends TensorSpecs, O extends TensorSpecs>(
  name: string,
  fn: InferFunc<I, O>,
): InferFunc<I, O> {
  return async (requests, context) => {
    const complete = requests.filter(({ parameters }) => Object.hasOwn(parameters, name));
    const results = complete.length === 0 ? [] : await fn(complete, withRequests(context, complete));
    // A TritonError in the place of a request's result fails that request alone.
    const missing = new TritonError('INVALID_ARG', `the parameter '${name}' is missing`);
    const all = requests.map((): Awaitable<Result<I, O>> => missing);
    results.forEach((result, index) => (all[requests.indexOf(complete[index]!)] = result));
    return all;
  };
}
