// The families that our server shows and the recorded one does not, in the form of metrics-values.ts, for the five
// models that the recorded servers had and the requests that they were asked.
import type { FamilyText } from './metrics-values.js';

type Model = 'addsub' | 'cached' | 'count' | 'params' | 'throws';
type Counts = Readonly<Record<Model, number>>;

const MODELS: readonly Model[] = ['addsub', 'cached', 'count', 'params', 'throws'];
const NONE: Counts = { addsub: 0, cached: 0, count: 0, params: 0, throws: 0 };

/** What the requests between the two looks at the metrics come to. */
const ASKED = {
  succeeded: { addsub: 3, cached: 3, count: 2, params: 1, throws: 1 },
  /** One of the three to `cached` had its answer from the cache. */
  executed: { addsub: 3, cached: 2, count: 2, params: 1, throws: 3 },
  rows: { addsub: 4, cached: 3, count: 2, params: 1, throws: 3 },
  /** Batches of one row; the others have two. */
  singleRows: { addsub: 2, cached: 1, count: 2, params: 1, throws: 3 },
  /** One of the two streams of `count` is empty. */
  streamed: 1,
} as const;

const SECONDS = '0.0001 0.0002 0.0005 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 20 50 +Inf';
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, '+Inf'];
const LAG = '0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 +Inf';

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
}

function family({ name, help, type }: Described, series: readonly string[]): FamilyText {
  const head = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  return { name, head, series: series.map((line) => name + line).sort() };
}

function labels(model: Model): string {
  return `{model="${model}",version="1"}`;
}

/** A series for each model. */
function each(values: (model: Model) => number | string): readonly string[] {
  return MODELS.map((model) => `${labels(model)} ${values(model)}`);
}

/** The lines of a histogram of times. */
function histogram(labelled: string, bounds: string, count: number): readonly string[] {
  return [
    `_bucket${labelled} at ${bounds}: up to the count`,
    `_count${labelled} ${count}`,
    `_sum${labelled} ${count === 0 ? 0 : 'a time'}`,
  ];
}

function histograms(counts: Counts): readonly string[] {
  return MODELS.flatMap((model) => histogram(labels(model), SECONDS, counts[model]));
}

function rowHistograms(asked: boolean): readonly string[] {
  return MODELS.flatMap((model) => {
    const [count, ones, sum] = asked ? [ASKED.executed[model], ASKED.singleRows[model], ASKED.rows[model]] : [0, 0, 0];
    const buckets = ROWS.map((bound) => (bound === 1 ? ones : count)).join(' ');
    return [
      `_bucket${labels(model)} at ${ROWS.join(' ')}: ${buckets}`,
      `_count${labels(model)} ${count}`,
      `_sum${labels(model)} ${sum}`,
    ];
  });
}

/** Models with a batcher send at once because nothing else waits; those without, because they batch nothing. */
function releases(asked: boolean): readonly string[] {
  const reasons = ['delay', 'full', 'idle', 'preferred', 'shape', 'single'];
  return MODELS.flatMap((model) =>
    reasons.map((reason) => {
      const why = model === 'addsub' ? 'idle' : 'single';
      const count = asked && reason === why ? ASKED.executed[model] : 0;
      return `{model="${model}",reason="${reason}",version="1"} ${count}`;
    }),
  );
}

const LOAD: Described = { name: 'nv_model_load_duration_secs', help: 'Model load time in seconds', type: 'gauge' };
const FIRST_RESPONSE: Described = {
  name: 'nv_inference_first_response_histogram_ms',
  help: 'Duration from request to first response in milliseconds',
  type: 'histogram',
};

/** The only response of an ordinary model is its first. */
function firstResponses(asked: boolean): readonly string[] {
  const answered: Counts = asked ? { ...ASKED.succeeded, count: ASKED.streamed } : NONE;
  return MODELS.flatMap((model) => histogram(labels(model), '100 500 2000 5000 +Inf', answered[model]));
}

/** `families` with those of ours among them; `asked` says whether the requests have been asked. */
export function withOurs(families: readonly FamilyText[], asked: boolean): readonly FamilyText[] {
  const streamed = asked ? ASKED.streamed : 0;
  const count = labels('count');
  return [
    ...families.flatMap((recorded) => {
      // Triton shows its own summaries with its own first responses.
      if (recorded.name === 'nv_inference_request_summary_us') {
        return [family(FIRST_RESPONSE, firstResponses(asked)), recorded];
      }
      return recorded.name === 'nv_cpu_utilization'
        ? [
            family(
              LOAD,
              each(() => 'a time'),
            ),
            recorded,
          ]
        : [recorded];
    }),
    ...(asked ? [family(REFUSED, [`{code="INVALID_ARG",model="addsub",version="1"} 1`])] : []),
    family(BATCHES, releases(asked)),
    family(
      RESTARTS,
      each(() => 0),
    ),
    family(
      INSTANCES,
      each(() => 1),
    ),
    family(
      INFLIGHT,
      each(() => 0),
    ),
    family(CONNECTIONS, ['{protocol="http"} a number', '{protocol="metrics"} a number']),
    family(DURATION, histograms(asked ? ASKED.succeeded : NONE)),
    family(WAIT, histograms(asked ? ASKED.executed : NONE)),
    family(BATCH_ROWS, rowHistograms(asked)),
    family(FIRST, histogram(count, SECONDS, streamed)),
    family(LOOP_LAG, [`_bucket{} at ${LAG}: up to the count`, '_count{} a number', '_sum{} a time']),
  ];
}

const REFUSED: Described = {
  name: 'tstriton_refused_requests_total',
  help: 'Requests turned away before they were accepted: invalid, or the queue was full.',
  type: 'counter',
};
const BATCHES: Described = {
  name: 'tstriton_batches_total',
  help: 'Batches given to instances, by why they were released.',
  type: 'counter',
};
const RESTARTS: Described = {
  name: 'tstriton_instance_restarts_total',
  help: 'Instances that were started again after their thread had ended.',
  type: 'counter',
};
const INSTANCES: Described = { name: 'tstriton_instances', help: 'Instances that take batches.', type: 'gauge' };
const INFLIGHT: Described = {
  name: 'tstriton_inflight_requests',
  help: 'Requests accepted and not yet answered.',
  type: 'gauge',
};
const CONNECTIONS: Described = { name: 'tstriton_connections', help: 'Open connections.', type: 'gauge' };
const DURATION: Described = {
  name: 'tstriton_request_duration_seconds',
  help: 'Time from the arrival of a request to its answer, of successful requests.',
  type: 'histogram',
};
const WAIT: Described = {
  name: 'tstriton_queue_wait_seconds',
  help: 'Time in the queue, of requests that were executed.',
  type: 'histogram',
};
const BATCH_ROWS: Described = { name: 'tstriton_batch_rows', help: 'Rows of executed batches.', type: 'histogram' };
const FIRST: Described = {
  name: 'tstriton_first_response_seconds',
  help: 'Time from the arrival of a request to its first response, of decoupled models.',
  type: 'histogram',
};
const LOOP_LAG: Described = {
  name: 'tstriton_event_loop_lag_seconds',
  help: "How late the event loop of the server's thread was, sampled every 20 milliseconds.",
  type: 'histogram',
};
