// Makes the calls that PyTriton's clients were recorded with, with our client on a server with the same models, and holds
// what came of them against the recording.
import type { Triton } from 'tstriton';

import type { Tensor } from '../../src/tensor/tensor.js';
import { badArgument, CALLS, COMING } from './client-calls.js';
import { labelOf, type ClientCase } from './client-cases.js';
import { renamed } from './cases.js';
import { addressOf, openClient, type ClientUnderTest, type Outputs } from './client-under-test.js';
import { describeRecord, type RecordedTensors } from './pytriton-cases.js';
import { describeRefusal, isSameRefusal, refusalOf, type Refusal } from './refusal.js';
import { Verdict, type Replay, type Rule } from './rules.js';

export interface ClientAnswer {
  /** Outputs as text, an address, or `coming: …`; empty for a refusal. */
  readonly found: string;
  readonly refusal: Refusal | undefined;
}
export type ClientRule = Rule<ClientCase, ClientAnswer>;

export async function replayClients(
  cases: readonly ClientCase[],
  triton: Triton,
  rules: readonly ClientRule[],
): Promise<Replay> {
  const verdict = new Verdict<ClientCase, ClientAnswer>(rules, differencesOf);
  const answers = await Promise.all(cases.map((testCase) => ask(testCase, triton)));
  cases.forEach((testCase, index) => {
    verdict.add({ testCase: labelled(testCase), recorded: recordedAnswer(testCase), ours: answers[index]! });
  });
  return verdict.replay();
}

export function labelled(testCase: ClientCase): ClientCase {
  return renamed(testCase, labelOf(testCase));
}

export function differencesOf(ours: ClientAnswer, expected: ClientAnswer): string[] {
  const describe = ({ found, refusal }: ClientAnswer) => (refusal === undefined ? found : describeRefusal(refusal));
  return ours.found === expected.found && isSameRefusal(ours.refusal, expected.refusal)
    ? []
    : [`expected ${describe(expected)}, got ${describe(ours)}`];
}

/** Reserved, and nobody's. */
const CLOSED_PORT = 1;

/** PyTriton puts words of its own, and of its Triton client, around what the server says. */
const AROUND =
  /^(?:Error occurred during inference request\. Message: |Error occurred on Triton Inference Server side:\n )(?:\[request id: \d+\] )?/;

export function recordedAnswer({ name, result, error }: ClientCase): ClientAnswer {
  if (error !== undefined) {
    return { found: '', refusal: { code: 'INVALID_ARG', text: error.message.replace(AROUND, '') } };
  }
  if (name === 'url') {
    const { scheme, hostname, port } = result as Readonly<Record<string, string | number>>;
    return { found: `${scheme} ${hostname} ${port}`, refusal: undefined };
  }
  if (typeof result !== 'object' || result === null) return { found: String(result), refusal: undefined };
  const outputs = (Array.isArray(result) ? result : [result]) as readonly RecordedTensors[];
  return { found: outputs.map(describeRecord).join('; '), refusal: undefined };
}

/** Streams were recorded over gRPC, but for one case. */
function defaultProtocol({ name }: ClientCase): 'http' | 'grpc' {
  return name.startsWith('decoupled-') && name !== 'decoupled-over-http' ? 'grpc' : 'http';
}

async function ask(testCase: ClientCase, triton: Triton): Promise<ClientAnswer> {
  const { name, url, protocol = defaultProtocol(testCase), model = 'AddSub' } = testCase;
  const coming = COMING[name];
  if (coming !== undefined) return { found: `coming: ${coming}`, refusal: undefined };
  const opened: ClientUnderTest[] = [];
  const open = (...[at, of, options]: Parameters<typeof openClient>) => {
    const client = openClient(at, of, options);
    opened.push(client);
    return client;
  };
  const server = `${protocol}://127.0.0.1:${protocol === 'http' ? triton.httpPort : triton.grpcPort}`;
  try {
    if (name === 'url') {
      const { scheme, host, port } = addressOf(url);
      return { found: `${scheme} ${host} ${port}`, refusal: undefined };
    }
    if (name === 'bad-arguments') {
      const argument = badArgument(testCase);
      open(server, argument.model, argument.options);
      return { found: '<ModelClient>', refusal: undefined };
    }
    const call = CALLS[name];
    if (call === undefined) return { found: 'not asked', refusal: undefined };
    const outputs = await call({
      url: server,
      open: (options, other) => open(server, other ?? model, options),
      openNowhere: () => open(`${protocol}://127.0.0.1:${CLOSED_PORT}`, model),
    });
    const list = (Array.isArray(outputs) ? outputs : [outputs]) as readonly Outputs[];
    const texts = list.map((each) => describeRecord(each as Readonly<Record<string, Tensor>>));
    return { found: texts.join('; '), refusal: undefined };
  } catch (error) {
    return { found: '', refusal: refusalOf(error) };
  } finally {
    for (const client of opened) await client.close();
  }
}
