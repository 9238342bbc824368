// What a server does while it runs and afterwards, as the life cycle cases were recorded: one server for all of them, in
// their order.
import { createServer, type AddressInfo } from 'node:net';

import { Triton, type TritonConfig } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { FREE_PORTS } from '../support/start-server.js';
import { inferText, restrictedText } from './lifecycle-cases.js';
import { MODEL, type Asker } from './lifecycle-config.js';

const CONFIG: TritonConfig = { ...FREE_PORTS, httpAddress: '127.0.0.1', grpcAddress: '127.0.0.1' };
const TOKEN = 'secret';
const INFER = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] };
const ONE = { name: 'x', datatype: 'FP32', shape: [1, 1], contents: { fp32_contents: [1] } };
/** What the calls over gRPC are about. */
const GRPC_REQUESTS: Readonly<Record<string, object>> = {
  ModelReady: { name: 'First' },
  ModelMetadata: { name: 'First' },
  ModelConfig: { name: 'First' },
  ModelInfer: { model_name: 'First', inputs: [ONE] },
};

/** Askers of one server that has not been started; the last case stops it. */
export function runningAskers(): Readonly<Record<string, Asker>> {
  const triton = new Triton({ ...CONFIG, accessToken: TOKEN });
  const named = (modelName: string, modelVersion = 1) => triton.bind({ ...MODEL, modelName, modelVersion });
  const url = (path: string) => `http://127.0.0.1:${triton.httpPort}${path}`;
  const version = async (path: string) => {
    const [status, body] = await callJson(url(`/v2/models/${path}/infer`), INFER);
    return inferText(status, JSON.stringify(body));
  };
  return {
    run: () => named('First').run(),
    'run-twice': () => triton.run(),
    'bind-after-run': () => named('Second').ready(),
    'bind-same-name-after-run': () => void named('First'),
    'bind-second-version-after-run': () => named('Second', 2).ready(),
    'is_alive-running': () => triton.isReady,
    'is_connected-running': () => triton.isReady,
    'infer-model-of-two-versions': async () =>
      [await version('Second/versions/1'), await version('Second/versions/2'), await version('Second')].join(' '),
    'restricted-http': async ({ method = '', path = '', wrong_token: wrong }) => {
      const call = (headers: Record<string, string>) => callJson(url(path), method === 'GET' ? undefined : bodyOf(path), headers);
      const status = async (headers: Record<string, string>) => (await call(headers))[0];
      const [code, body] = await call({});
      const without = restrictedText(code, JSON.stringify(body));
      if (wrong === undefined) return without;
      const others = [{ 'triton-access-token': 'wrong' }, { 'triton-access-token': TOKEN }, { 'TRITON-ACCESS-TOKEN': TOKEN }];
      return [without, ...(await Promise.all(others.map(status)))].join(' ');
    }, // prettier-ignore
    'metrics-port': async () => (await fetch(`http://127.0.0.1:${triton.metricsPort}/metrics`)).status,
    'restricted-grpc': async ({ method = '' }) => {
      using grpc = grpcService(`grpc://127.0.0.1:${triton.grpcPort}`);
      const status = (headers: Record<string, string>) =>
        grpc.call(method, GRPC_REQUESTS[method] ?? {}, headers).then(
          () => 'OK',
          ({ code, details }: { readonly code: number; readonly details: string }) => `${code} ${details}`,
        );
      const key = 'triton-grpc-protocol-triton-access-token';
      const headers = [{}, { 'triton-access-token': TOKEN }, { [key]: 'wrong' }, { [key]: TOKEN }];
      return (await Promise.all(headers.map((given) => status(given as Record<string, string>)))).join('; ');
    },
    'port-taken': ({ which = '' }) => runOnTakenPort(which),
    'bind-after-failed-load': async () => {
      const setup = () => Promise.reject(new Error('no such weights'));
      triton.bind({ ...MODEL, modelName: 'Failing', setup });
      const failed = await triton.ready('Failing').then(
        () => 'loaded',
        () => 'failed',
      );
      named('AfterFailure');
      await triton.ready('AfterFailure');
      await triton.unbind('Failing');
      return `${failed}, then ${await version('AfterFailure')}, ready ${(await callJson(url('/v2/health/ready')))[0]}`;
    },
    stop: () => triton.stop(),
    'stop-twice': () => triton.stop(),
    'is_alive-after-stop': () => triton.isReady,
    'bind-after-stop': () => void named('Third'),
    'run-after-stop': async () => {
      await triton.run();
      await triton.stop();
    },
  };
}

function bodyOf(path: string): object {
  if (path.endsWith('/infer')) return INFER;
  return path.endsWith('/generate') ? { x: 1 } : {};
}

/** Runs a server whose port of this name another socket holds. */
async function runOnTakenPort(which: string): Promise<string> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address() as AddressInfo;
  const triton = new Triton({ ...CONFIG, [`${which}Port`]: port });
  try {
    await triton.run();
    return 'accepted';
  } finally {
    await triton.stop();
    await new Promise((resolve) => holder.close(resolve));
  }
}
