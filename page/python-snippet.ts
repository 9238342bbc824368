// The request of the form as Python, by NVIDIA's tritonclient.

import { isFloat } from './elements.js';
import type { Parameter } from './infer.js';
import { type Call, literal, nested, type SnippetInput, TOKEN, withBatch } from './snippet-parts.js';

const NUMPY: Readonly<Record<string, string>> = { BOOL: 'np.bool_', BYTES: 'np.object_', FP16: 'np.float16', FP32: 'np.float32', FP64: 'np.float64' }; // prettier-ignore

function numpy(datatype: string): string {
  return NUMPY[datatype] ?? `np.${datatype.toLowerCase()}`;
}

export function python(call: Call): string {
  const { origin, grpc, model, version, declared, inputs, parameters, tokenHeader } = call;
  if (declared.decoupled && grpc === undefined) {
    return '# tritonclient streams over gRPC alone, which this server has switched off.';
  }
  const wire = declared.decoupled ? 'grpc' : 'http';
  const url = new URL(origin);
  const ssl = url.protocol === 'https:' && wire === 'http' ? ', ssl=True' : '';
  const prefix = wire === 'grpc' ? 'triton-grpc-protocol-' : '';
  const lines = [
    ...(tokenHeader === undefined ? [] : ['import os']),
    'import numpy as np',
    `import tritonclient.${wire} as triton`,
    '',
    `client = triton.InferenceServerClient(${literal(wire === 'grpc' ? grpc! : url.host)}${ssl})`,
    'inputs = []',
    ...inputs.flatMap((input) => pythonInput(call, input)),
  ];
  const options = [
    ...(version === undefined ? [] : [`model_version=${literal(version)}`]),
    ...(tokenHeader === undefined ? [] : [`headers={${literal(prefix + tokenHeader)}: os.environ["${TOKEN}"]}`]),
  ];
  const sequence = ['sequence_id', 'sequence_start', 'sequence_end', 'priority', 'timeout'];
  const own = Object.entries(parameters).filter(([name]) => !sequence.includes(name));
  for (const [name, value] of Object.entries(parameters)) {
    if (sequence.includes(name)) options.push(`${name}=${pythonLiteral(value)}`);
  }
  if (own.length > 0) {
    options.push(`parameters={${own.map(([name, value]) => `${literal(name)}: ${pythonLiteral(value)}`).join(', ')}}`);
  }
  const rest = options.map((option) => `, ${option}`).join('');
  if (declared.decoupled) {
    const [header] = options.filter((option) => option.startsWith('headers='));
    const inferring = options
      .filter((option) => option !== header)
      .map((option) => `, ${option}`)
      .join('');
    return [
      'from queue import Queue',
      ...lines,
      '',
      'answers = Queue()',
      `client.start_stream(callback=lambda result, error: answers.put((result, error))${header === undefined ? '' : `, ${header}`})`,
      `client.async_stream_infer(${literal(model)}, inputs, enable_empty_final_response=True${inferring})`,
      'while True:',
      '    result, error = answers.get()',
      '    if error is not None:',
      '        raise error',
      '    response = result.get_response()',
      '    if response.parameters["triton_final_response"].bool_param:',
      '        break',
      ...declared.outputs.map(({ name }) => `    print(${literal(name)}, result.as_numpy(${literal(name)}))`),
      'client.stop_stream()',
    ].join('\n');
  }
  return [
    ...lines,
    `result = client.infer(${literal(model)}, inputs${rest})`,
    ...declared.outputs.map(({ name }) => `print(${literal(name)}, result.as_numpy(${literal(name)}))`),
  ].join('\n');
}

function pythonInput(call: Call, input: SnippetInput): string[] {
  const { spec, shape, literals, file } = input;
  const dims = withBatch(call, shape);
  const type = numpy(spec.datatype);
  if (spec.datatype === 'BF16') {
    return [`# ${spec.name}: numpy has no bfloat16; give set_data_from_numpy a float32 array and datatype "BF16".`];
  }
  const value =
    file !== undefined
      ? `np.array([open(${literal(file)}, "rb").read()], dtype=np.object_)`
      : literals === undefined
        ? `np.zeros((${shape.join(', ')}${shape.length === 1 ? ',' : ''}), dtype=${type})`
        : `np.array(${nested(
            literals.map((one) => pythonText(one, spec.datatype)),
            shape,
          )}, dtype=${type})`;
  const place = `[${dims.join(', ')}]`;
  return [
    `tensor = triton.InferInput(${literal(spec.name)}, ${place}, "${spec.datatype}")`,
    `tensor.set_data_from_numpy(${value}.reshape(${place}))`,
    'inputs.append(tensor)',
  ];
}

function pythonText(value: string, datatype: string): string {
  if (datatype === 'BOOL') return value === 'true' ? 'True' : 'False';
  if (datatype === 'BYTES') return `${value}.encode()`;
  if (isFloat(datatype) && !/\d/.test(value)) return `float("${value}")`;
  return value;
}

function pythonLiteral(value: Parameter): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}
