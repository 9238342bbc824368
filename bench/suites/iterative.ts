// Continuous batching: the tokens per second of a model that gives its rows back between its steps, beside those of the same
// model in batches that end together. Clients read texts of mixed lengths as gRPC streams, in a closed loop.

import { ModelClient } from 'tstriton/client';

import { chosen } from '../chosen.js';
import { formatGoals, type Goal } from '../goals.js';
import { IDEAL_TOKENS_PER_SECOND, MAX_ROWS, tokenOf, tokensOf } from '../iterative-workload.js';
import { StartedProcesses } from '../started-processes.js';
import { median } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { formatFigure, formatTable } from '../table.js';
import { SERVERS, TITLES } from './callables-part.js';
import type { ServerName } from './callables-part.js';

const MODELS = { Together: 'batches that end together', Continuous: 'iterative: true' } as const;
type ModelName = keyof typeof MODELS;
/** So many requests always wait while the batches are full. */
const CLIENTS = 2 * MAX_ROWS;
/** A batch that ends together lasts for more than two seconds. */
export const ITERATIVE_SECONDS = 12;
export const ITERATIVE_ROUNDS = 3;

interface TokenSample {
  readonly server: ServerName;
  readonly model: ModelName;
  readonly tokensPerSecond: number;
  /** Milliseconds from the request. */
  readonly firstToken: number;
  readonly lastToken: number;
  /** As the server counts them. */
  readonly rowsPerExecution: number;
  readonly errors: number;
}

export async function runIterative(options: SuiteOptions): Promise<SuiteResult> {
  const models = chosen(Object.keys(MODELS) as ModelName[], options.only, '--only');
  const servers = chosen(SERVERS, options.servers, '--servers');
  const samples: TokenSample[] = [];
  for (const server of servers) {
    await using processes = new StartedProcesses();
    const one = await processes.start(
      './servers/iterative-server.js',
      options.pinning.server,
      String(server === 'thread'),
    );
    const ports = { grpc: one.port('grpcPort'), http: one.port('httpPort') };
    for (let round = 0; round < (options.isQuick ? 1 : Math.min(ITERATIVE_ROUNDS, options.timing.rounds)); round++) {
      for (const model of models) samples.push({ server, model, ...(await measure(model, ports, options)) });
    }
  }
  options.print(`${format(samples)}\n`);
  const goals = models.length < 2 ? [] : servers.map((server) => goalOf(samples, server));
  options.print(formatGoals(goals));
  const errors = samples.reduce((sum, sample) => sum + sample.errors, 0);
  return { comparisons: [], goals, errors, figures: { samples } };
}

async function measure(
  model: ModelName,
  ports: { readonly grpc: number; readonly http: number },
  { timing, isQuick, print }: SuiteOptions,
): Promise<Omit<TokenSample, 'server' | 'model'>> {
  const milliseconds = 1000 * (isQuick ? 1 : Math.max(timing.seconds, ITERATIVE_SECONDS));
  await using client = new ModelClient(`grpc://127.0.0.1:${ports.grpc}`, model);
  const firsts: number[] = [];
  const lasts: number[] = [];
  let tokens = 0;
  let errors = 0;
  let next = 0;
  let isOver = false;
  const readTexts = async (): Promise<void> => {
    while (!isOver) {
      const k = next++;
      const length = tokensOf(k);
      const begin = performance.now();
      let made = 0;
      try {
        for await (const { token } of client.streamSample({ request: [k], tokens: [length] })) {
          if (++made === 1) firsts.push(performance.now() - begin);
          if (!isOver) tokens++;
          if (token!.data[0] !== tokenOf(k, made))
            throw new Error(`text ${k}: token ${made} is ${String(token!.data[0])}`);
        }
        if (made !== length) throw new Error(`text ${k} has ${made} tokens, expected ${length}`);
        lasts.push(performance.now() - begin);
      } catch (error) {
        if (errors++ === 0) print(`ERROR: ${model}: ${String(error)}`);
      }
    }
  };
  const before = await executionsOf(model, ports.http);
  const begin = performance.now();
  const reading = Array.from({ length: CLIENTS }, readTexts);
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  const seconds = (performance.now() - begin) / 1000;
  isOver = true;
  const after = await executionsOf(model, ports.http);
  await Promise.all(reading);
  return {
    tokensPerSecond: tokens / seconds,
    firstToken: median(firsts),
    lastToken: median(lasts),
    rowsPerExecution: (after.rows - before.rows) / (after.executions - before.executions),
    errors,
  };
}

async function executionsOf(
  model: string,
  port: number,
): Promise<{ readonly rows: number; readonly executions: number }> {
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/${model}/stats`);
  const { model_stats: stats } = (await response.json()) as {
    readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
  };
  return { rows: stats[0]!.inference_count, executions: stats[0]!.execution_count };
}

function medianOf(
  samples: readonly TokenSample[],
  of: Pick<TokenSample, 'server' | 'model'>,
  figure: Exclude<keyof TokenSample, 'server' | 'model'>,
): number {
  const own = samples.filter(({ server, model }) => server === of.server && model === of.model);
  return median(own.map((sample) => sample[figure]));
}

function format(samples: readonly TokenSample[]): string {
  const pairs = [...new Map(samples.map((sample) => [`${sample.server} ${sample.model}`, sample])).values()];
  const rows = pairs.map((one) => {
    const rate = medianOf(samples, one, 'tokensPerSecond');
    return [
      `${MODELS[one.model]}, ${TITLES[one.server]}`,
      formatFigure(rate),
      `${((100 * rate) / IDEAL_TOKENS_PER_SECOND).toFixed(1)} %`,
      formatFigure(medianOf(samples, one, 'rowsPerExecution')),
      formatFigure(medianOf(samples, one, 'firstToken')),
      formatFigure(medianOf(samples, one, 'lastToken')),
    ];
  });
  const title = `${CLIENTS} clients read texts of mixed lengths, batches of up to ${MAX_ROWS} (ideal: ${formatFigure(IDEAL_TOKENS_PER_SECOND)} tokens/s)`;
  return [
    title,
    formatTable(['model', 'tokens/s', 'of the ideal', 'rows an execution', 'first token ms', 'last token ms'], rows),
  ].join('\n');
}

function goalOf(samples: readonly TokenSample[], server: ServerName): Goal {
  const rate = (model: ModelName) => medianOf(samples, { server, model }, 'tokensPerSecond');
  const what = `tokens/s with iterative: true to those of batches that end together, ${TITLES[server]}`;
  return { id: 'tokens', what, got: rate('Continuous') / rate('Together'), bound: 'at least', target: 3 };
}
