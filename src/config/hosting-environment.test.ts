import { describe, expect, it } from 'vitest';

import { checkSafePorts, sagemakerSettings, vertexAiRoutes } from './hosting-environment.js';

describe('Vertex AI', () => {
  it('names its routes in the environment', () => {
    expect(vertexAiRoutes({ AIP_PREDICT_ROUTE: '/p', AIP_HEALTH_ROUTE: '/h' })).toEqual({
      predictRoute: '/p',
      healthRoute: '/h',
    });
  });

  it.each([
    [{ AIP_HEALTH_ROUTE: '/h' }, 'AIP_PREDICT_ROUTE is not defined for Vertex AI endpoint'],
    [{ AIP_PREDICT_ROUTE: '/p', AIP_HEALTH_ROUTE: '' }, 'AIP_HEALTH_ROUTE is not defined for Vertex AI endpoint'],
  ])('cannot do without %j', (environment, message) => {
    expect(() => vertexAiRoutes(environment)).toThrow(message);
  });
});

describe('SageMaker', () => {
  it('has the defaults of Triton', () => {
    expect(sagemakerSettings({})).toEqual({
      pingMode: 'ready',
      defaultModel: 'unspecified_SAGEMAKER_TRITON_DEFAULT_MODEL_NAME',
      inferenceType: 'infer',
    });
  });

  it('says in the environment how it is to be served', () => {
    expect(
      sagemakerSettings({
        SAGEMAKER_TRITON_PING_MODE: 'live',
        SAGEMAKER_TRITON_DEFAULT_MODEL_NAME: 'm',
        SAGEMAKER_TRITON_INFERENCE_TYPE: 'generate_stream',
      }),
    ).toEqual({ pingMode: 'live', defaultModel: 'm', inferenceType: 'generate_stream' });
  });

  it('is refused what it does not know', () => {
    expect(() => sagemakerSettings({ SAGEMAKER_TRITON_PING_MODE: 'on' })).toThrow(
      'SAGEMAKER_TRITON_PING_MODE must be ready or live, got "on"',
    );
  });

  it.each<[string | undefined, Record<string, number | undefined>]>([
    [undefined, { HTTP: 8000 }],
    ['21000-22000', { HTTP: 21_000, GRPC: 22_000, metrics: undefined, 'Vertex AI': 0 }],
  ])('allows, with the range %j, the ports %j', (range, ports) => {
    expect(() => checkSafePorts(range, ports)).not.toThrow();
  });

  it.each<[string, Record<string, number>, string]>([
    [
      '21000-22000',
      { HTTP: 21_000, metrics: 8002 },
      'The server cannot listen to metrics requests at port 8002, allowed port range is [21000, 22000]',
    ],
    ['21000', {}, "sagemakerSafePortRange must be like '21000-22000', got '21000'"],
    ['22000-21000', {}, "sagemakerSafePortRange must be like '21000-22000', got '22000-21000'"],
  ])('refuses, with the range %j, the ports %j', (range, ports, message) => {
    expect(() => checkSafePorts(range, ports)).toThrow(message);
  });
});
