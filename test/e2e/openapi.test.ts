// The description of a server in OpenAPI 3.1: a validator takes it, it tells what the server does, and a client that a generator
// makes of it compiles and is right.
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import openapiTypescript from 'openapi-typescript';
import { describe, expect, it } from 'vitest';

import { batch, stream, type Triton } from 'tstriton';

import { startServer } from '../support/start-server.js';

const OUT = fileURLToPath(new URL('../../build/openapi', import.meta.url));

function bindModels(triton: Triton): void {
  triton.bind({
    modelName: 'Rent',
    modelVersion: 2,
    route: 'POST /rent',
    description: 'Estimates the "rent" of a flat',
    inputs: {
      rooms: { dtype: 'int8', shape: [1], description: 'Number of rooms' },
      location: { dtype: 'float64', shape: [2] },
      tags: { dtype: 'string', shape: [-1], optional: true },
    },
    outputs: { rent: { dtype: 'float32', shape: [1] }, near: { dtype: 'bool', shape: [-1, 2] } },
    strict: true,
    inferFunc: batch(({ rooms }) => ({
      rent: Array.from(rooms.data, (count) => [count < 0 ? NaN : 300 * count]),
      near: Array.from(rooms.data, () => [[true, false]]),
    })),
  });
  triton.bind({
    modelName: 'Rent',
    route: 'POST /v1/rent',
    inputs: { x: { dtype: 'float16', shape: [-1] } },
    outputs: {},
    inferFunc: (requests) => requests.map(() => ({})),
  });
  triton.bind({
    modelName: 'Picture',
    route: 'POST /pictures',
    inputs: { picture: { dtype: 'bytes', shape: [1], contentEncoding: 'base64' } },
    outputs: { id: { dtype: 'uint64', shape: [] } },
    config: { batching: false },
    inferFunc: (requests) => requests.map(() => ({ id: [7n] })),
  });
  triton.bind({
    modelName: 'Rent_infer',
    inputs: {},
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(async function* () {
      yield { i: [[1]] };
    }),
  });
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: { readonly 200: { readonly content: Readonly<Record<string, { readonly schema: object }>> } };
}
interface Document {
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: object;
}

async function documentOf(http: string): Promise<Document> {
  return (await (await fetch(`${http}/openapi.json`)).json()) as Document;
}

const PATHS = [
  '/pictures',
  '/rent',
  '/v1/rent',
  '/v2/models/Picture/infer',
  '/v2/models/Picture/generate',
  '/v2/models/Picture/generate_stream',
  '/v2/models/Rent/infer',
  '/v2/models/Rent/generate',
  '/v2/models/Rent/generate_stream',
  '/v2/models/Rent_infer/generate_stream',
];

describe.each([{ serverThread: true }, { serverThread: false }])('/openapi.json with %o', (mode) => {
  it('is valid OpenAPI 3.1 of all models, own routes first', async () => {
    await using server = await startServer(bindModels, mode);
    const document = await documentOf(server.http);
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
    expect(Object.keys(document.paths)).toEqual(PATHS);
    const ids = Object.values(document.paths).map(({ post }) => post.operationId);
    expect(new Set(ids).size).toBe(PATHS.length);
    expect(document.paths['/rent']!.post.summary).toBe('Estimates the "rent" of a flat');
    expect(Object.keys(document.paths['/pictures']!.post.requestBody.content)).toEqual([
      'application/json',
      'multipart/form-data',
      'application/octet-stream',
    ]);
    await server.triton.unbind('Picture');
    expect(Object.keys((await documentOf(server.http)).paths)).toEqual(PATHS.filter((path) => !/pict/i.test(path)));
  });
});

describe('its schemas', () => {
  it('take what the server takes and gives, and refuse the rest', async () => {
    await using server = await startServer(bindModels);
    const document = await documentOf(server.http);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const whole = { ...document, $id: 'openapi' };
    ajv.addSchema(whole, 'openapi');
    const schema = (path: string, part: string) =>
      ajv.compile({ $ref: `openapi#/paths/${path.replaceAll('/', '~1')}/post/${part}/content/application~1json/schema` });
    const takes = schema('/rent', 'requestBody');
    const gives = schema('/rent', 'responses/200');
    for (const rent of [
      { rooms: 3, location: [1, 2] },
      { rooms: -1, location: [0.5, 2], tags: ['a'], parameters: { p: 1 } },
    ]) {
      expect(takes(rent)).toBe(true);
      const answer = await fetch(`${server.http}/rent`, { method: 'POST', body: JSON.stringify(rent) });
      expect([answer.status, gives(await answer.json())]).toEqual([200, true]);
    }
    for (const wrong of [
      { rooms: 3 },
      { rooms: 3, location: [1] },
      { rooms: 300, location: [1, 2] },
      { rooms: 1.5, location: [1, 2] },
      { rooms: 3, location: [1, 2], tags: [1] },
      { rooms: 3, location: [1, 2], more: 1 },
    ]) {
      expect(takes(wrong)).toBe(false);
      const answer = await fetch(`${server.http}/rent`, { method: 'POST', body: JSON.stringify(wrong) });
      expect(answer.status).toBe(400);
    }
    const infers = schema('/v2/models/Rent/infer', 'requestBody');
    const inferred = schema('/v2/models/Rent/infer', 'responses/200');
    const inputs = [
      { name: 'rooms', datatype: 'INT8', shape: [1, 1], data: [2] },
      { name: 'location', datatype: 'FP64', shape: [1, 2], data: [1, 2] },
    ];
    expect(infers({ inputs })).toBe(true);
    expect(infers({ inputs: [{ ...inputs[0], datatype: 'INT32' }] })).toBe(false);
    const answer = await fetch(`${server.http}/v2/models/Rent/infer`, { method: 'POST', body: JSON.stringify({ inputs }) });
    expect([answer.status, inferred(await answer.json())]).toEqual([200, true]);
  }); // prettier-ignore

  it('become the types of a generated client, which compiles, and asks the server', async () => {
    await using server = await startServer(bindModels);
    const document = await documentOf(server.http);
    mkdirSync(OUT, { recursive: true });
    writeFileSync(join(OUT, 'server.ts'), await openapiTypescript(structuredClone(document) as never));
    const client = `import type { operations, paths } from './server.js';
      type Json<T> = T extends { content: { 'application/json': infer J } } ? J : never;
      type Of<P extends keyof paths> = paths[P]['post'];
      async function post<P extends keyof paths>(
        path: P,
        body: Json<Of<P>['requestBody']>,
      ): Promise<Json<Of<P>['responses'][200]>> {
        const response = await fetch(process.argv[2] + path, { method: 'POST', body: JSON.stringify(body) });
        if (!response.ok) throw new Error(await response.text());
        return (await response.json()) as Json<Of<P>['responses'][200]>;
      }
      type Body = operations['Rent']['requestBody']['content']['application/json'];
      // @ts-expect-error
      export const without: Body = { rooms: 3 };
      // @ts-expect-error
      export const wrong: Body = { rooms: '3', location: [1, 2] };
      const told: unknown[] = [];
      for (const rooms of [2, 5]) {
        const { rent, near } = await post('/rent', { rooms, location: [1, 2], tags: ['a'] });
        const number: number | null = rent;
        const pairs: boolean[][] = near;
        told.push(number, pairs);
      }
      const { id } = await post('/pictures', { picture: 'aGk=' });
      const { outputs } = await post('/v2/models/Rent/infer', {
        inputs: [
          { name: 'rooms', datatype: 'INT8', shape: [1, 1], data: [4] },
          { name: 'location', datatype: 'FP64', shape: [1, 2], data: [1, 2] },
        ],
      });
      const generated = await post('/v2/models/Rent/generate', { rooms: 6, location: [1, 2] });
      console.log(JSON.stringify({ told, id, infer: outputs[0]?.data, generated: generated.rent }));`;
    writeFileSync(join(OUT, 'client.ts'), client);
    const compilerOptions = { strict: true, outDir: 'out', module: 'NodeNext', target: 'ES2022', types: ['node'] };
    writeFileSync(join(OUT, 'package.json'), '{"type":"module"}');
    writeFileSync(join(OUT, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts', 'server.ts'] }));
    const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', OUT], { encoding: 'utf8' });
    expect([stdout, status]).toEqual(['', 0]);
    const ran = await promisify(execFile)(process.execPath, [join(OUT, 'out', 'client.js'), server.http]);
    expect(JSON.parse(ran.stdout)).toEqual({
      told: [600, [[true, false]], 1500, [[true, false]]],
      id: 7,
      infer: [1200],
      generated: 1800,
    });
  });
});

it('is metadata to those who restrict it', async () => {
  await using server = await startServer(bindModels, { httpRestrictedApi: ['metadata:k=v'] });
  expect((await fetch(`${server.http}/openapi.json`)).status).toBe(403);
});
