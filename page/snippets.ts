// The request of the form as code that works when it is pasted: curl, TypeScript, Python, and the OpenAI API's client.

import { python } from './python-snippet.js';
import { type Call, literal, nested, type SnippetInput, TOKEN, withBatch } from './snippet-parts.js';

export function snippets(call: Call): readonly (readonly [language: string, code: string])[] {
  const { openai } = call.declared;
  return [
    ['curl', curl(call)],
    ['TypeScript', typescript(call)],
    ['Python', python(call)],
    ...(openai === undefined ? [] : [['OpenAI', openAi(call)] as const]),
  ];
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** For JavaScript: in single quotes, where the text has none. */
function script(text: string): string {
  return /^[^'"\\\n\r]*$/.test(text) ? `'${text}'` : literal(text);
}

function curl(call: Call): string {
  const { origin, model, version, declared, inputs, parameters, tokenHeader } = call;
  const header = tokenHeader === undefined ? '' : ` \\\n  -H "${tokenHeader}: $${TOKEN}"`;
  const path = `${origin}/v2/models/${model}${version === undefined ? '' : `/versions/${version}`}`;
  const [file] = inputs.filter((input) => input.file !== undefined);
  if (file !== undefined && inputs.length === 1 && declared.route !== undefined) {
    return `curl ${origin}${declared.route}${header} \\\n  -F ${quoted(`${file.spec.name}=@${file.file}`)}`;
  }
  const unwritten = inputs.find(({ literals }) => literals === undefined);
  if (unwritten !== undefined) return binaryCurl(call, `${path}/infer`, header);
  if (declared.decoupled) {
    const members = inputs.map(({ spec, shape, literals = [] }) => {
      const isSingle = literals.length === 1;
      return `${literal(spec.name)}: ${isSingle ? literals[0]! : nested(literals, shape)}`;
    });
    const all = [
      ...members,
      ...Object.entries(parameters).map(([name, value]) => `${literal(name)}: ${JSON.stringify(value)}`),
    ];
    return `curl -N ${path}/generate_stream${header} \\\n  -d ${quoted(`{${all.join(', ')}}`)}`;
  }
  if (inputs.some(({ spec }) => spec.datatype === 'FP16' || spec.datatype === 'BF16')) {
    return '# JSON has no 16-bit floats in this protocol: TypeScript and Python send them in binary.';
  }
  const tensors = inputs.map(({ spec, shape, literals = [] }) => {
    const members = [
      `"name": ${literal(spec.name)}`,
      `"datatype": "${spec.datatype}"`,
      `"shape": [${withBatch(call, shape).join(', ')}]`,
      `"data": [${literals.join(', ')}]`,
    ];
    return `{${members.join(', ')}}`;
  });
  const given = Object.keys(parameters).length === 0 ? '' : `"parameters": ${JSON.stringify(parameters)}, `;
  return `curl ${path}/infer${header} \\\n  -d ${quoted(`{${given}"inputs": [\n    ${tensors.join(',\n    ')}\n  ]}`)}`;
}

/** One file of bytes, with its length before it, behind the JSON that describes it. */
function binaryCurl(call: Call, url: string, header: string): string {
  const { inputs, parameters, declared } = call;
  const [input] = inputs;
  if (inputs.length !== 1 || input?.file === undefined || declared.decoupled) {
    return '# Such values are sent in binary: see TypeScript and Python.';
  }
  const { spec, shape, file } = input;
  const json = `{"parameters":${JSON.stringify(parameters)},"inputs":[{"name":${literal(spec.name)},"datatype":"BYTES","shape":[${withBatch(call, shape).join(',')}],"parameters":{"binary_data_size":'$((size + 4))'}}]}`;
  return [
    `size=$(wc -c < ${quoted(file)})`,
    `json='${json}'`,
    `{ printf '%s' "$json"; printf "$(printf '\\\\%03o' $((size & 255)) $((size >> 8 & 255)) $((size >> 16 & 255)) $((size >> 24)))"; cat ${quoted(file)}; } |`,
    `  curl ${url}${header} -H "Inference-Header-Content-Length: \${#json}" --data-binary @-`,
  ].join('\n');
}

function typescript(call: Call): string {
  const { origin, model, version, declared, inputs, parameters, tokenHeader } = call;
  const files = inputs.filter((input) => input.file !== undefined);
  const options = [
    ...(version === undefined ? [] : [`modelVersion: ${version}`]),
    ...(tokenHeader === undefined ? [] : [`accessToken: process.env.${TOKEN}`]),
  ];
  const given = inputs.map((input) => `  ${key(input.spec.name)}: ${typescriptValue(input)},`);
  const hasParameters = Object.keys(parameters).length > 0;
  const argument = `{\n${given.join('\n')}\n}${hasParameters ? `, { parameters: ${JSON.stringify(parameters)} }` : ''}`;
  return [
    ...(files.length > 0 ? ["import { readFile } from 'node:fs/promises';", ''] : []),
    "import { ModelClient } from 'tstriton/client';",
    '',
    `const client = new ModelClient(${[script(origin), script(model), ...(options.length > 0 ? [`{ ${options.join(', ')} }`] : [])].join(', ')});`,
    ...(declared.decoupled
      ? [`for await (const outputs of client.streamSample(${argument})) {`, '  console.log(outputs);', '}']
      : [`const outputs = await client.inferSample(${argument});`, 'console.log(outputs);']),
    'await client.close();',
  ].join('\n');
}

function typescriptValue({ spec, shape, literals, file }: SnippetInput): string {
  if (file !== undefined) return `[await readFile(${script(file)})]`;
  if (literals === undefined) return `/* ${spec.dtype}, shape [${shape.join(', ')}] */ values`;
  if (spec.datatype.endsWith('INT64'))
    return nested(
      literals.map((value) => `${value}n`),
      shape,
    );
  return nested(
    spec.datatype === 'BYTES' ? literals.map((text) => script(JSON.parse(text) as string)) : literals,
    shape,
  );
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : literal(name);
}

/** Of the value of an input of texts, as it was typed. */
function typedText(call: Call, name: string): string | undefined {
  const [only] = call.inputs.find(({ spec }) => spec.name === name)?.literals ?? [];
  return only === undefined ? undefined : (JSON.parse(only) as string);
}

function openAi(call: Call): string {
  const { origin, model, declared, tokenHeader } = call;
  const asked = {
    chat: ['chat.completions', `messages: ${jsonOf(typedText(call, 'messages')) ?? HELLO}`, 'stream: true'],
    completions: ['completions', `prompt: ${literal(typedText(call, 'prompt') ?? 'Hello')}`, 'stream: true'],
    embeddings: ['embeddings', `input: ${literal(typedText(call, 'text') ?? 'Hello')}`],
    transcriptions: ['audio.transcriptions', "file: createReadStream('audio.wav')"],
  }[declared.openai!];
  const [resource, ...members] = [asked[0], `model: ${script(model)}`, ...asked.slice(1)];
  const isRecording = declared.openai === 'transcriptions';
  const text = declared.openai === 'chat' ? 'delta?.content' : 'text';
  return [
    ...(isRecording ? ["import { createReadStream } from 'node:fs';"] : []),
    "import OpenAI from 'openai';",
    '',
    'const client = new OpenAI({',
    `  baseURL: ${script(`${origin}/v1`)},`,
    `  apiKey: ${tokenHeader === undefined ? "'none'" : `process.env.${TOKEN}`},`,
    '});',
    `const answer = await client.${resource}.create({`,
    ...members.map((member) => `  ${member},`),
    '});',
    ...(members.includes('stream: true')
      ? ['for await (const chunk of answer) {', `  process.stdout.write(chunk.choices[0]?.${text} ?? '');`, '}']
      : [`console.log(answer.${isRecording ? 'text' : 'data[0].embedding'});`]),
  ].join('\n');
}

const HELLO = "[{ role: 'user', content: 'Hello' }]";

/** Undefined for what is no JSON. */
function jsonOf(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}
