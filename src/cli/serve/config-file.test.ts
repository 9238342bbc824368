import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { mergeOptions, readConfigFile } from './config-file.js';

let folder: string;
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'tstriton-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the configuration file', () => {
  it('is none where there is none', async () => {
    expect(await readConfigFile(undefined, folder)).toEqual({ options: {}, models: [] });
  });

  it.each([
    ['tstriton.config.json', '{"httpPort": 9000, "models": ["a/model.ts"]}'],
    ['tstriton.config.mjs', 'export default { httpPort: 9000, models: ["a/model.ts"] }'],
    ['tstriton.config.ts', 'const port: number = 9000; export default { httpPort: port, models: ["a/model.ts"] }'],
  ])('has options, and files beside it: %s', async (name, text) => {
    write(name, text);
    const expected = { options: { httpPort: 9000 }, models: [join(folder, 'a/model.ts')] };
    expect(await readConfigFile(undefined, folder)).toEqual(expected);
    expect(await readConfigFile(name, folder)).toEqual(expected);
  });

  it.each([
    ['an unknown option', '{"htpPort": 1}', "tstriton.config.json has an unknown option 'htpPort'; did you mean 'httpPort'?"],
    ['a wrong value', '{"httpPort": "1"}', 'httpPort of tstriton.config.json must be an integer'],
    ['an option that is not served', '{"rateLimit": "off"}', 'rateLimit of tstriton.config.json is not supported by TSTriton: '],
    ['no object', '[]', 'tstriton.config.json must be an object, got a list'],
    ['models that are none', '{"models": "a.ts"}', 'models of tstriton.config.json must be a list of files'],
    ['no JSON', '{"httpPort": }', 'tstriton.config.json is no JSON: '],
  ])('is refused by its name for %s', async (_, text, message) => {
    write('tstriton.config.json', text);
    await expect(readConfigFile(undefined, folder)).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringContaining(message) as unknown,
    });
  }); // prettier-ignore

  it('is refused where there are two, or the one that is named is not there or no such file', async () => {
    write('tstriton.config.json', '{}');
    write('tstriton.config.mjs', 'export default {}');
    await expect(readConfigFile(undefined, folder)).rejects.toThrow('expected one configuration file');
    await expect(readConfigFile('other.json', folder)).rejects.toThrow('there is no configuration file other.json');
    write('x.yaml', '');
    await expect(readConfigFile('x.yaml', folder)).rejects.toThrow('x.yaml must end with .ts');
  });

  it('counts after the environment, and that after flags', () => {
    const environment = { TSTRITON_CONFIG_HTTP_PORT: '2', TSTRITON_CONFIG_GRPC_PORT: '2' };
    expect(mergeOptions({ httpPort: 1 }, environment, { httpPort: 3, grpcPort: 3, metricsPort: 3 })).toEqual({
      httpPort: 1,
      grpcPort: 2,
      metricsPort: 3,
    });
  });
});
