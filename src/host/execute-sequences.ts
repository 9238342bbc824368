// An execution for a model that batches by sequences. The callable gets other rows and tensors than the server sends:
// empty slots, control inputs and states.

import type { TritonError } from '../errors.js';
import type { HostedRequest } from '../model/inference-request.js';
import type { Tensor } from '../tensor/tensor.js';
import type { HostBatch, HostExecution } from './host-execution.js';
import type { HostDone, HostStream } from './host-results.js';
import type { HostedSequences, SequencedBatch } from './hosted-sequences.js';

export interface SequencesExecution {
  readonly done: HostDone;
  readonly batch: HostBatch;
  /** Runs the callable. */
  readonly execute: (requests: readonly HostedRequest[], done: HostDone, batch: HostBatch) => HostExecution;
}

const NOTHING_TO_CANCEL: HostExecution = { cancel: () => undefined, cancelAll: () => undefined };

export function executeSequences(
  sequences: HostedSequences,
  requests: readonly HostedRequest[],
  { done, batch, execute }: SequencesExecution,
): HostExecution {
  const entered = sequences.enter(requests);
  const { places } = entered;
  if (entered.requests.every(({ live }) => live === undefined) && entered.failed.size > 0) {
    failRefused(entered, batch.stream);
    done(sequences.results(entered, requests, []), { inferMs: 0 });
    return NOTHING_TO_CANCEL;
  }
  const atPlaces = <T>(values: readonly (T | undefined)[] | undefined) => {
    if (values === undefined) return undefined;
    const own: (T | undefined)[] = requests.map(() => undefined);
    places.forEach((place, index) => {
      if (place !== undefined) own[place] = values[index];
    });
    return own;
  };
  const { stream, traces } = batch;
  failRefused(entered, stream);
  const execution = execute(
    entered.requests,
    (results, { inferMs, aloneMs }, parameters) =>
      done(
        sequences.results(entered, requests, results),
        { inferMs, aloneMs: atPlaces(aloneMs) },
        atPlaces(parameters),
      ),
    {
      ...batch,
      stream: stream && ownStream(stream, sequences, entered),
      traces: traces && {
        ...traces,
        requests: places.map((place) => (place === undefined ? undefined : traces.requests[place])),
      },
    },
  );
  return {
    cancel: (place) => {
      const index = places.indexOf(place);
      if (index >= 0) execution.cancel(index);
    },
    cancelAll: () => execution.cancelAll(),
  };
}

/** Ends the streams of requests that the callable does not get. */
function failRefused({ failed }: SequencedBatch, stream: HostStream | undefined): void {
  if (stream !== undefined) for (const [place, error] of failed) stream.end(place, error);
}

function ownStream(stream: HostStream, sequences: HostedSequences, { requests, places }: SequencedBatch): HostStream {
  /** The states that each request has given so far. Those of a request that fails do not count. */
  const given = requests.map((): Tensor[] => []);
  return {
    respond: (index, outputs, more) => {
      const place = places[index];
      if (place === undefined) return undefined;
      const own = sequences.take(outputs, given[index]!);
      if (more?.final === true) sequences.keep(requests[index]!, given[index]!);
      return stream.respond(place, own, more);
    },
    end: (index, error?: TritonError) => {
      const place = places[index];
      if (place === undefined) return;
      const request = requests[index]!;
      if (error !== undefined) request.reschedule(false);
      else sequences.keep(request, given[index]!);
      if (!request.isRescheduled) stream.end(place, error);
    },
  };
}
