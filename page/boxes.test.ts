import { describe, expect, it } from 'vitest';

import { boxesOf, drawnBoxes } from './boxes.js';

const SIZE = { width: 200, height: 100 };
const place = ({ x, y, width, height }: ReturnType<typeof boxesOf>[number]) => [x, y, width, height];

describe('boxesOf', () => {
  it.each([
    ['xyxy', [10, 20, 40, 60]],
    ['xywh', [10, 20, 30, 40]],
    ['cxcywh', [25, 40, 30, 40]],
  ] as const)('reads boxes as %s', (form, values) => {
    expect(boxesOf(values, 4, form, SIZE).map(place)).toEqual([[10, 20, 30, 40]]);
  });

  it('takes small coordinates for parts of the image, and reads scores and classes', () => {
    const boxes = boxesOf([0, 0.5, 0.25, 1, 0.9, 2, 0, 0, 1, 1, 0.5, 0], 6, 'xyxy', SIZE);
    expect(boxes.map(place)).toEqual([
      [0, 50, 50, 50],
      [0, 0, 200, 100],
    ]);
    expect(boxes.map(({ score, kind }) => [score, kind])).toEqual([
      [0.9, 2],
      [0.5, 0],
    ]);
  });

  it('draws the best, and none without a size', () => {
    const boxes = boxesOf([0, 0, 9, 9, 0.3, 0, 0, 0, 9, 0, 0.9, 1, 0, 0, 5, 5, 0.8, 2, 0, 0, 4, 4, 0.6, 3], 6, 'xyxy', SIZE); // prettier-ignore
    expect(drawnBoxes(boxes, 0.5, 10).map(({ kind }) => kind)).toEqual([2, 3]);
    expect(drawnBoxes(boxes, 0, 1).map(({ kind }) => kind)).toEqual([2]);
  });
});
