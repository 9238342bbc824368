// The files for containers, Kubernetes and KServe say of the server what is so: its ports, health routes, options and metrics, and
// how long it takes to stop. That their readers take them is `test/deploy/schemas`' to show.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { checkServerOptions } from '../../src/cli/deploy/check-server-options.js';
import { OPTIONS } from '../../src/config/options.js';
import { variableOf } from '../../src/config/read-environment.js';
import { MetricsText } from '../support/metrics-text.js';
import { startServer } from '../support/start-server.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(`${root}/${path}`, 'utf8');
const { version } = JSON.parse(read('package.json')) as { readonly version: string };

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly [probe: `${string}Probe`]: {
    readonly httpGet: { readonly path: string };
    readonly periodSeconds: number;
    readonly failureThreshold?: number;
  };
}

const deployment = parse(read('deploy/kubernetes/base/deployment.yaml')) as {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly [Container] };
    };
  };
};
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const { spec: scaler } = parse(read('deploy/kubernetes/base/horizontal-pod-autoscaler.yaml')) as {
  readonly spec: { readonly metrics: readonly [{ readonly pods: { readonly metric: { readonly name: string } } }] };
};
const dockerfile = read('deploy/Dockerfile');
const values = parse(read('deploy/helm/tstriton/values.yaml')) as {
  readonly shutdownDelaySecs: number;
  readonly exitTimeoutSecs: number;
  readonly config: Readonly<Record<string, string>>;
};
const delay = Number(container.env.find(({ name }) => name.endsWith('SHUTDOWN_DELAY_SECS'))!.value);
const FILES = readdirSync(`${root}/deploy`, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(?:yaml|tpl)$|Dockerfile$/.test(path))
  .map((path) => `deploy/${path}`);

describe('the files for deployment', () => {
  it('name ports that the server has by default', () => {
    expect(Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))).toEqual({
      http: OPTIONS.httpPort.default,
      grpc: OPTIONS.grpcPort.default,
      metrics: OPTIONS.metricsPort.default,
    });
    expect(dockerfile).toContain('\nEXPOSE 8000 8001 8002\n');
  });

  it('set only options that there are', () => {
    const known = new Set(Object.keys(OPTIONS).map(variableOf));
    const named = FILES.flatMap((path) =>
      Array.from(read(path).matchAll(/TSTRITON_CONFIG_([A-Z_]+)\b/g), ([, name]) => name!),
    );
    expect(named.length).toBeGreaterThan(5);
    expect([...named, ...Object.keys(values.config)].filter((name) => !known.has(name))).toEqual([]);
  });

  it('of Helm refuse the options that the command refuses', () => {
    const settings = { serveArgs: [], modelsClaim: undefined, tokenSecret: undefined };
    const isRefused = (variable: string) => {
      try {
        checkServerOptions({ ...settings, env: { [`TSTRITON_CONFIG_${variable}`]: '1' } });
        return false;
      } catch (error) {
        // Of some options the value itself is refused.
        return /does not fit the files|would not change the ports|does not count beside/.test((error as Error).message);
      }
    };
    const checks = read('deploy/helm/tstriton/templates/_checks.tpl');
    const named = Array.from(checks.matchAll(/^ {2}"([A-Z_]+)" /gm), ([, name]) => name!);
    const variables = (Object.keys(OPTIONS) as (keyof typeof OPTIONS)[]).map(variableOf);
    expect([...named, 'MODEL_REPOSITORY'].sort()).toEqual(variables.filter(isRefused).sort());
  });

  it('give the server more time to stop than it takes', () => {
    expect(values.exitTimeoutSecs).toBe(OPTIONS.exitTimeoutSecs.default);
    expect(values.shutdownDelaySecs).toBe(delay);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(delay + OPTIONS.exitTimeoutSecs.default);
    expect(dockerfile).toContain(`TSTRITON_CONFIG_SHUTDOWN_DELAY_SECS=${delay}`);
  });

  it('let load balancers notice that a server stops while it still serves', () => {
    const { periodSeconds, failureThreshold = 3 } = container['readinessProbe']!;
    expect(periodSeconds * failureThreshold).toBeLessThan(delay / 2);
  });

  it('are of the version of the package', () => {
    expect(read('deploy/helm/tstriton/Chart.yaml')).toContain(`\nversion: ${version}\nappVersion: ${version}\n`);
    expect(container.image).toBe(`tstriton:${version}`);
    expect(read('deploy/kserve/serving-runtime.yaml')).toContain(`image: tstriton:${version}\n`);
  });

  it('ask for routes and metrics that the server has', async () => {
    const tensors = {
      inputs: { x: { dtype: 'int32', shape: [1] } },
      outputs: { y: { dtype: 'int32', shape: [1] } },
    } as const;
    await using server = await startServer((triton) =>
      triton.bind({ modelName: 'M', ...tensors, inferFunc: (requests) => requests }),
    );
    const routes = FILES.flatMap((path) => Array.from(read(path).matchAll(/path: (\/v2\S*)/g), ([, route]) => route!));
    expect(new Set(routes)).toEqual(new Set(['/v2/health/live', '/v2/health/ready']));
    for (const route of new Set(routes)) expect((await fetch(`${server.http}${route}`)).status).toBe(200);
    const { name } = scaler.metrics[0].pods.metric;
    const { samples, types } = await MetricsText.of(server.metrics);
    expect(samples.some((sample) => sample.name === name)).toBe(true);
    expect(types.get(name)).toBe('gauge');
    expect(read('deploy/kubernetes/prometheus-adapter.yaml')).toContain(`matches: ^${name}$`);
    expect(read('deploy/helm/tstriton/templates/horizontal-pod-autoscaler.yaml')).toContain(`name: ${name}\n`);
  });
});
