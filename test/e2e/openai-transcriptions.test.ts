// POST /v1/audio/transcriptions by the official client: recordings as form data, texts in the forms that clients ask for.
import OpenAI, { BadRequestError, InternalServerError, NotFoundError, toFile } from 'openai';
import { describe, expect, it } from 'vitest';

import { completionModel, transcriptionModel, type TranscriptionRequest, type Triton, TritonError } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { gate, startServer } from '../support/start-server.js';

class Seen {
  readonly requests: TranscriptionRequest[] = [];
  readonly begun = gate();
  readonly left = gate();
}

const sumOf = (bytes: Uint8Array) => bytes.reduce((sum, byte) => sum + byte, 0);

function ears(seen: Seen) {
  return transcriptionModel({
    modelName: 'Ears',
    config: { concurrency: 4 },
    async transcribe(request) {
      seen.requests.push(request);
      const { audio, prompt, language, signal } = request;
      if (prompt === 'fail') throw new TritonError('INVALID_ARG', 'no such language');
      if (prompt === 'nothing') return undefined as never;
      if (prompt === 'later') return { text: Promise.reject(new Error('too late')) } as never;
      if (prompt === 'hang') {
        seen.begun.open();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        seen.left.open();
      }
      const text = `${audio.length} bytes of ${sumOf(audio)}`;
      if (language === undefined) return text;
      return { text, language, duration: 1.5, segments: [{ id: 0, start: 0, end: 1.5, text }], words: [] };
    },
  });
}

function bindModels(triton: Triton, seen = new Seen()): void {
  triton.bind(ears(seen));
  triton.bind(completionModel({ modelName: 'Words', complete: ({ prompt }) => prompt }));
}

const clientOf = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
const recording = (...bytes: number[]) => toFile(Uint8Array.from(bytes), 'recording.wav', { type: 'audio/wav' });

describe.each([{ serverThread: true }, { serverThread: false }])('transcriptions with %o', (mode) => {
  it('are answered as JSON, as text and with their details, and get all fields', async () => {
    const seen = new Seen();
    await using server = await startServer((triton) => bindModels(triton, seen), mode);
    const { transcriptions } = clientOf(server.http).audio;
    const file = await recording(1, 2, 13, 10, 255);
    expect(await transcriptions.create({ model: 'Ears', file })).toEqual({ text: '5 bytes of 281' });
    const text: unknown = await transcriptions.create({ model: 'Ears', file, response_format: 'text' });
    expect(text).toBe('5 bytes of 281\n');
    const verbose = await transcriptions.create({
      model: 'Ears',
      file,
      response_format: 'verbose_json',
      language: 'en',
      prompt: 'Zoë “said”',
      temperature: 0.5,
      timestamp_granularities: ['word', 'segment'],
    });
    expect(verbose).toEqual({
      task: 'transcribe',
      language: 'en',
      duration: 1.5,
      text: '5 bytes of 281',
      segments: [{ id: 0, start: 0, end: 1.5, text: '5 bytes of 281' }],
      words: [],
    });
    expect(seen.requests.at(-1)).toMatchObject({
      audio: Uint8Array.of(1, 2, 13, 10, 255),
      language: 'en',
      prompt: 'Zoë “said”',
      temperature: 0.5,
      options: { timestamp_granularities: ['word', 'segment'], response_format: 'verbose_json' },
    });
    expect(seen.requests[0]).toMatchObject({ language: undefined, prompt: undefined, temperature: undefined });
  });

  it('stay apart when they come at once', async () => {
    await using server = await startServer(bindModels, mode);
    const { transcriptions } = clientOf(server.http).audio;
    const sizes = Array.from({ length: 30 }, (_, i) => 1 + ((i * 7919) % 40_000));
    const texts = await Promise.all(
      sizes.map(async (size, i) => {
        const file = await toFile(new Uint8Array(size).fill(i), `${i}.mp3`);
        return (await transcriptions.create({ model: 'Ears', file })).text;
      }),
    );
    expect(texts).toEqual(sizes.map((size, i) => `${size} bytes of ${size * i}`));
  });

  it('are ordinary inferences too', async () => {
    const seen = new Seen();
    await using server = await startServer((triton) => bindModels(triton, seen), mode);
    await using client = new ModelClient(server.grpc, ears(seen));
    const { text } = await client.inferSample({ audio: [Uint8Array.of(1, 2)], options: ['{"language":"de"}'] });
    expect(text!.strings()).toEqual(['2 bytes of 3']);
    const { data } = await clientOf(server.http).models.list();
    expect(data.map(({ id }) => id).sort()).toEqual(['Ears', 'Words']);
  });

  it('end when their client leaves', async () => {
    const seen = new Seen();
    await using server = await startServer((triton) => bindModels(triton, seen), mode);
    const left = new AbortController();
    const asked = clientOf(server.http).audio.transcriptions.create(
      { model: 'Ears', file: await recording(1), prompt: 'hang' },
      { signal: left.signal },
    );
    await seen.begun.opened;
    left.abort();
    await expect(asked).rejects.toThrow('Request was aborted');
    await seen.left.opened;
  });
});

describe('a transcription that is wrong', () => {
  it('is refused by the name of the field', async () => {
    await using server = await startServer(bindModels, { httpMaxInputSize: 10_000 });
    const { transcriptions } = clientOf(server.http).audio;
    const file = await recording(1);
    const refusal = (request: object) =>
      transcriptions.create({ model: 'Ears', file, ...request } as never).then(
        () => 'accepted',
        (error: unknown) => error,
      );
    const cases = [
      [{ model: 'Nobody' }, NotFoundError, 'model', "the model 'Nobody' does not exist"],
      [{ model: 'Words' }, BadRequestError, 'model', "the model 'Words' is served at /v1/completions, not at /v1/audio/transcriptions"],
      [{ model: '' }, BadRequestError, 'model', 'you must provide a model parameter'],
      [{ file: undefined, other: await recording(1) }, BadRequestError, 'file', "you must provide 'file', the recording"],
      [{ file: await recording() }, BadRequestError, 'file', "'file' is empty, expected a recording"],
      [{ response_format: 'srt' }, BadRequestError, 'response_format', "'response_format' must be one of json, text, verbose_json, got 'srt'"],
      [{ temperature: 2 }, BadRequestError, 'temperature', "'temperature' must be a number from 0 to 1, got '2'"],
      [{ prompt: 'fail' }, BadRequestError, null, 'no such language'],
      [{ prompt: 'later' }, InternalServerError, null, 'an object without a text'],
      [{ prompt: 'nothing' }, InternalServerError, null, "transcribe of model 'Ears' returned undefined, expected a text, or an object with one as 'text'"],
    ] as const; // prettier-ignore
    for (const [request, kind, param, message] of cases) {
      const error = await refusal(request);
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ param, message: expect.stringContaining(message) as unknown });
    }
    expect(await refusal({ file: await toFile(new Uint8Array(20_000), 'a') })).toMatchObject({ status: 413 });
    expect((await transcriptions.create({ model: 'Ears', file })).text).toBe('1 bytes of 1');
  });

  it.each([
    ['no form data', 'application/json', '{"model":"Ears"}', 'the request must be multipart/form-data, got application/json'],
    ['a form without a boundary', 'multipart/form-data', '', 'the Content-Type of form data must have a boundary'],
    ['a form that ends early', 'multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nxyz', "it ends early, in or behind part 'file'"],
    ['a stream', 'multipart/form-data; boundary=b', form({ model: 'Ears', file: 'x', stream: 'true' }), 'transcriptions are not streamed'],
    ['a stream in the words of Python', 'multipart/form-data; boundary=b', form({ model: 'Ears', file: 'x', stream: 'True' }), 'transcriptions are not streamed'],
    ['log probabilities', 'multipart/form-data; boundary=b', form({ model: 'Ears', file: 'x', 'include[]': 'logprobs' }), "'logprobs' are not supported"],
    ['two recordings', 'multipart/form-data; boundary=b', form({ model: 'Ears', file: 'x' }, { file: 'y' }), "'file' is given 2 times, expected one recording"],
  ])('is refused as %s', async (_, type, body, message) => {
    await using server = await startServer(bindModels);
    const answer = await fetch(`${server.http}/v1/audio/transcriptions`, { method: 'POST', headers: { 'content-type': type }, body });
    const { error } = (await answer.json()) as { error: { message: string; type: string } };
    expect([answer.status, error.type]).toEqual([400, 'invalid_request_error']);
    expect(error.message).toContain(message);
  }); // prettier-ignore

  it('is refused at once when the path is asked with GET', async () => {
    await using server = await startServer(bindModels);
    expect((await fetch(`${server.http}/v1/audio/transcriptions`)).status).toBe(405);
  });
});

function form(...fields: readonly Readonly<Record<string, string>>[]): string {
  const parts = fields.flatMap((each) => Object.entries(each));
  const text = parts.map(
    ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${text.join('')}--b--\r\n`;
}
