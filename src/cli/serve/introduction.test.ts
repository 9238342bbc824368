import { describe, expect, it } from 'vitest';

import { DTYPES, type Dtype } from '../../tensor/dtype.js';
import { curlLine, introduction, snippet, type IntroducedModel } from './introduction.js';

const OPEN = { tokenVariable: undefined, ca: undefined };
const HTTP = 'http://localhost:8000';

const tensor = (name: string, dtype: Dtype = 'float32', shape: readonly number[] = [-1], optional = false) => ({
  name,
  dtype,
  datatype: DTYPES[dtype].datatype,
  shape,
  optional,
});

function model(changes: Partial<IntroducedModel> = {}): IntroducedModel {
  return {
    name: 'AddSub',
    version: 1,
    inputs: [tensor('a'), tensor('b', 'int64', [2], true)],
    maxBatchSize: 8,
    decoupled: false,
    askedVersion: undefined,
    failure: undefined,
    ...changes,
  };
}

describe('the curl line of a model', () => {
  it('sends values of its shapes, with a row where it batches, and leaves out what may be left out', () => {
    expect(curlLine(model(), HTTP, OPEN)).toBe(
      `curl -s ${HTTP}/v2/models/AddSub/infer -d '{"inputs":[{"name":"a","datatype":"FP32","shape":[1,1],"data":[1]}]}'`,
    );
    expect(curlLine(model({ maxBatchSize: 0, askedVersion: 2 }), HTTP, OPEN)).toContain(
      '/v2/models/AddSub/versions/2/infer -d \'{"inputs":[{"name":"a","datatype":"FP32","shape":[1],',
    );
  });

  it('sends plain JSON to the route of the model', () => {
    const inputs = [
      tensor('rooms', 'int8', [1]),
      tensor('place', 'float64', [2]),
      tensor('grid', 'int32', [2, 3]),
      tensor('tags', 'string', [-1]),
      tensor('deep', 'bool', [1, 2, 1]),
    ];
    expect(curlLine(model({ inputs, route: '/rent' }), HTTP, OPEN)).toBe(
      `curl -s ${HTTP}/rent -d '{"rooms":1,"place":[1,2],"grid":[[1,2,3],[4,5,6]],"tags":["text"],"deep":[[[true],[false]]]}'`,
    );
    expect(curlLine(model({ inputs: inputs.slice(0, 1), route: '/count', decoupled: true }), HTTP, OPEN)).toBe(
      `curl -sN ${HTTP}/count -d '{"rooms":1}'`,
    );
  });

  it('asks the OpenAI API where that serves the model, for the latest version', () => {
    const chat = model({
      name: 'Writer',
      inputs: [tensor('messages', 'string', [1])],
      decoupled: true,
      openai: 'chat',
    });
    expect(curlLine(chat, HTTP, OPEN)).toBe(
      `curl -sN ${HTTP}/v1/chat/completions -d '{"model":"Writer","messages":[{"role":"user","content":"text"}],"stream":true}'`,
    );
    expect(curlLine({ ...chat, askedVersion: 1 }, HTTP, OPEN)).toBe(
      `curl -sN ${HTTP}/v2/models/Writer/versions/1/generate_stream -d '{"messages":"[{\\"role\\":\\"user\\",\\"content\\":\\"text\\"}]"}'`,
    );
    expect(curlLine(model({ name: 'Embed', openai: 'embeddings' }), HTTP, OPEN)).toBe(
      `curl -sN ${HTTP}/v1/embeddings -d '{"model":"Embed","input":"text"}'`,
    );
    expect(curlLine(model({ name: 'Ears', openai: 'transcriptions' }), HTTP, OPEN)).toBe(
      `curl -s ${HTTP}/v1/audio/transcriptions -F 'model=Ears' -F file=@audio.wav`,
    );
    expect(snippet(chat, HTTP, OPEN)).toContain(
      `client.streamSample({ messages: ['[{"role":"user","content":"text"}]'] })`,
    );
  });

  it('quotes for the shell', () => {
    const line = curlLine(model({ inputs: [tensor("it's", 'string', [1])] }), HTTP, OPEN);
    expect(line).toContain(`"name":"it'\\''s"`);
  });

  it('sends bytes where values would be too many, or JSON does not carry them', () => {
    for (const input of [tensor('x', 'uint8', [3, 100]), tensor('x', 'float16', [300]), tensor('x', 'string', [75])]) {
      const line = curlLine(model({ inputs: [input] }), HTTP, OPEN)!;
      const size = input.dtype === 'float16' ? 600 : 300;
      expect(line).toContain(`"binary_data_size":${size}`);
      expect(line).toContain(`head -c ${size} /dev/zero`);
      const [, json] = /printf '%s' '(.*)'; head/.exec(line)!;
      expect(line).toContain(`Inference-Header-Content-Length: ${json!.length}'`);
    }
  });

  it('asks a decoupled model for its stream, where HTTP carries its inputs', () => {
    const decoupled = { decoupled: true, inputs: [tensor('text', 'string', [1])] };
    expect(curlLine(model(decoupled), HTTP, OPEN)).toBe(
      `curl -sN ${HTTP}/v2/models/AddSub/generate_stream -d '{"text":"text"}'`,
    );
    expect(curlLine(model({ ...decoupled, inputs: [tensor('x', 'float32', [-1, -1])] }), HTTP, OPEN)).toBeUndefined();
  });

  it('has the token and the authority that the server wants', () => {
    const line = curlLine(model(), HTTP, { tokenVariable: 'TOKEN', ca: '/a b.pem' });
    expect(line).toContain(`--cacert '/a b.pem' -H "triton-access-token: $TOKEN"`);
    expect(curlLine(model(), undefined, OPEN)).toBeUndefined();
  });
});

describe('the snippet of a model', () => {
  it('has values nested as the shapes are, names as they are, and a loop for streams', () => {
    const inputs = [tensor('a-b', 'int64', [2, 2]), tensor('flag', 'bool', [1])];
    expect(snippet(model({ inputs }), 'grpc://h:1', OPEN)).toContain(
      `inferSample({ 'a-b': [[1, 2], [3, 4]], flag: [true] })`,
    );
    expect(snippet(model({ decoupled: true }), 'grpc://h:1', OPEN)).toContain(
      'for await (const outputs of client.stream',
    );
    expect(snippet(model({ inputs: [tensor('x', 'float32', [100])] }), 'grpc://h:1', OPEN)).toContain(
      `new Tensor('float32', new Float32Array(100), [100])`,
    );
  });
});

describe('the introduction', () => {
  it('tells where it serves, and of a model that does not serve why', () => {
    const at = { http: HTTP, grpc: undefined, metrics: undefined, page: `${HTTP}/` };
    const text = introduction([model({ failure: 'no memory' })], at, OPEN, (_, each) => each);
    expect(text).toContain('HTTP    http://localhost:8000\n  page    http://localhost:8000/\n');
    expect(text).toContain('does not serve\n  no memory');
    expect(text).not.toContain('curl');
  });
});
