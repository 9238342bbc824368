import { describe, expect, it } from 'vitest';

import { ATTACKS, harmless } from '../../bench/attack-wire.js';

describe('an attack', () => {
  it.each(ATTACKS)('$name is compared with harmless requests of about as many bytes', (attack) => {
    const blow = attack.blow(1).length;
    const control = harmless(attack).blow(1);
    const text = control.toString('latin1');
    // No request is shorter than that, and tensors come in pairs of whole numbers.
    expect(Math.abs(control.length - Math.max(blow, 49))).toBeLessThanOrEqual(8);
    const [head = ''] = text.split('\r\n\r\n');
    const length = Number(/^content-length: (\d+)$/m.exec(head)?.[1] ?? 0);
    expect(control.length).toBe(head.length + 4 + length);
    if (length === 0) return;
    const jsonLength = Number(/^inference-header-content-length: (\d+)$/m.exec(head)![1]);
    const { inputs } = JSON.parse(text.slice(head.length + 4, head.length + 4 + jsonLength)) as {
      inputs: { shape: number[]; parameters: { binary_data_size: number } }[];
    };
    const sizes = inputs.map(({ shape, parameters }) => [shape[1]! * 4, parameters.binary_data_size]);
    expect(sizes).toEqual(Array(2).fill([(length - jsonLength) / 2, (length - jsonLength) / 2]));
  });
});
