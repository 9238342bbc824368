// What the batcher's decision costs per request, without anything around it: a request enters a queue of given length,
// and leaves it in a batch. The queue is the one of the build.

interface Request {
  readonly rows: number;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  readonly id: string;
  entry: undefined;
}

interface Queue {
  readonly size: number;
  enqueue(request: Request, now: number): void;
  expire(now: number): readonly Request[];
  next(now: number): { readonly kind: string; readonly batch?: readonly Request[] };
}

interface Build {
  readonly BatchQueue: new (options: object) => Queue;
  readonly completeBatcher: (batcher: object, maxBatchSize: number, where: string) => object;
}

export interface DecisionCost {
  readonly name: string;
  readonly queued: number;
  readonly nanoseconds: number;
}

const MAX_ROWS = 32;
export const QUEUED: readonly number[] = [1, 64, 10_000];

/** Settings whose parts of the decision differ. */
const BATCHERS: Readonly<Record<string, object>> = {
  'default settings': {},
  'timeouts of 10 s': { defaultQueuePolicy: { defaultTimeoutMicroseconds: 10_000_000 } },
  'four levels of priority': { priorityLevels: 4, defaultPriorityLevel: 2 },
  'preferred sizes 8 and 16': { preferredBatchSize: [8, 16] },
};

// Compiled, this module is build/bench/batch-decision.js.
async function loadBuild(): Promise<Build> {
  const load = async <K extends keyof Build>(path: string): Promise<Pick<Build, K>> =>
    (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as Pick<Build, K>;
  return {
    ...(await load<'BatchQueue'>('core/scheduler/batch-queue.js')),
    ...(await load<'completeBatcher'>('model/complete-batcher.js')),
  };
}

export async function measureDecisions(seconds: number): Promise<readonly DecisionCost[]> {
  const build = await loadBuild();
  const costs: DecisionCost[] = [];
  for (const [name, settings] of Object.entries(BATCHERS)) {
    for (const queued of QUEUED) {
      const options = {
        maxBatchSize: MAX_ROWS,
        batcher: build.completeBatcher(settings, MAX_ROWS, name),
        compatible: () => true,
      };
      costs.push({ name, queued, nanoseconds: measure(new build.BatchQueue(options), queued, seconds) });
    }
  }
  return costs;
}

function measure(queue: Queue, queued: number, seconds: number): number {
  // As many as leave with each batch come anew, so that the queue keeps its length.
  const requests = Array.from({ length: queued + MAX_ROWS }, (_, i): Request => ({
    rows: 1,
    priority: i % 5,
    timeoutMicroseconds: 0,
    id: '',
    entry: undefined,
  }));
  let now = 0;
  for (let i = 0; i < queued; i++) queue.enqueue(requests[i]!, now);
  let free = requests.slice(queued);
  const run = (count: number): number => {
    let done = 0;
    while (done < count) {
      now += 0.01;
      queue.expire(now);
      const { batch } = queue.next(now);
      for (let i = 0; i < batch!.length; i++) queue.enqueue(free[i]!, now);
      done += batch!.length;
      free = batch as Request[];
    }
    return done;
  };
  run(200_000);
  // In slices, the quickest of which tells what it costs when nothing else has the core.
  let best = Infinity;
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    const startedAt = performance.now();
    const done = run(20_000);
    best = Math.min(best, ((performance.now() - startedAt) * 1e6) / done);
  }
  return best;
}
