// Whether a server's own counters agree with what its clients saw, from one moment at which nothing is under way to another.
import { setImmediate as turn } from 'node:timers/promises';

import { MetricsText } from '../metrics-text.js';
import type { Connections } from './connections.js';
import type { Entry, Standing } from './ledger.js';
import type { ModelName } from './models.js';
import { isRefusal } from './refusals.js';

interface Counts {
  readonly success: number;
  readonly fail: number;
  /** Of the failed requests: what waited for instances in vain, among others. */
  readonly givenUp: number;
}

/** The last clients are gone, the server has to learn it; and threads that died often are started again after pauses. */
const PATIENCE_MS = 120_000;

export class StatisticsCheck {
  readonly #standings: ReadonlyMap<ModelName, Standing>;
  readonly #before: ReadonlyMap<ModelName, Counts>;
  readonly #late: readonly Entry[];

  private constructor(
    standings: ReadonlyMap<ModelName, Standing>,
    before: ReadonlyMap<ModelName, Counts>,
    late: readonly Entry[],
  ) {
    this.#standings = standings;
    this.#before = before;
    this.#late = late;
  }

  /** `late`: requests that have ended for their clients. The server may have some of those that were given up still to read. */
  static async begin(
    connections: Connections,
    standings: ReadonlyMap<ModelName, Standing>,
    late: readonly Entry[] = [],
  ): Promise<StatisticsCheck> {
    const before = new Map<ModelName, Counts>();
    const metrics = await MetricsText.of(connections.metrics);
    for (const [name, standing] of standings) {
      standing.replaced = false;
      const counts = await countsOf(connections, metrics, name);
      if (typeof counts === 'string') standing.replaced = true;
      else before.set(name, counts);
    }
    return new StatisticsCheck(standings, before, late);
  }

  /** What is wrong with the counters, after these requests. */
  async end(connections: Connections, closed: readonly Entry[]): Promise<string[]> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const wrong = await this.#look(connections, closed);
      if (wrong.length === 0 || performance.now() > deadline) return wrong;
      await turn();
    }
  }

  async #look(connections: Connections, closed: readonly Entry[]): Promise<string[]> {
    const wrong: string[] = [];
    const metrics = await MetricsText.of(connections.metrics);
    for (const { name, labels, value } of metrics.samples) {
      if (name === 'nv_inference_pending_request_count' && value !== 0)
        wrong.push(`${value} requests of ${labels['model']} wait`);
    }
    for (const [name, standing] of this.#standings) {
      const after = await countsOf(connections, metrics, name);
      if (typeof after === 'string') {
        wrong.push(`${name} has no statistics when nothing is under way: ${after}`);
        continue;
      }
      // The counters of what was replaced are gone with it.
      if (standing.replaced) continue;
      const ofModel = (entry: Entry) => entry.standing === standing;
      const seen = tally(closed.filter(ofModel));
      seen.unknown += tally(this.#late.filter(ofModel)).unknown;
      const before = this.#before.get(name)!;
      const success = after.success - before.success;
      const all = success + after.fail - before.fail;
      const fits =
        success >= seen.answered &&
        success <= seen.answered + seen.unknown &&
        all >= seen.answered + seen.failed &&
        // Our clients send again what waited in vain, and tell of the last attempt only. The server counts each.
        all <= seen.answered + seen.failed + seen.unknown + after.givenUp - before.givenUp;
      if (!fits)
        wrong.push(`${name} counted ${success} successes of ${all} requests, its clients ${JSON.stringify(seen)}`);
    }
    return wrong;
  }
}

/** `unknown`: whose client was gone before it knew. */
function tally(entries: readonly Entry[]) {
  const counts = { answered: 0, failed: 0, refused: 0, unknown: 0 };
  for (const { outcome = '', aborted } of entries) {
    if (outcome === 'answer') counts.answered++;
    else if (isRefusal(outcome)) counts.refused++;
    else if (aborted) counts.unknown++;
    else counts.failed++;
  }
  return counts;
}

/** Or why there are none. */
async function countsOf({ http }: Connections, metrics: MetricsText, name: ModelName): Promise<Counts | string> {
  const response = await fetch(`${http}/v2/models/${name}/stats`);
  const { model_stats: statistics, error = '' } = (await response.json()) as {
    readonly error?: string;
    readonly model_stats?: readonly {
      readonly inference_stats: Readonly<Record<'success' | 'fail', { readonly count: number }>>;
    }[];
  };
  if (statistics?.[0] === undefined) return error;
  const { success, fail } = statistics[0].inference_stats;
  const givenUp = metrics.value('nv_inference_request_failure', { model: name, reason: 'OTHER' }) ?? 0;
  return { success: success.count, fail: fail.count, givenUp };
}
