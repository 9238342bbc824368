// Boxes on the image that was sent.

import { useEffect, useState } from 'preact/hooks';

import type { DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import { boxesOf, drawnBoxes, type PixelSize } from './boxes.js';

/** The image of a request. */
export interface SentImage {
  readonly file: File;
  /** What it was scaled to; undefined for a file that was sent as it is. */
  readonly scaledTo: PixelSize | undefined;
}

/** More are not drawn. */
const MOST_BOXES = 100;
const COLOURS = 3;

interface BoxesProps {
  readonly values: readonly number[];
  readonly columns: number;
  readonly spec: DeclaredTensorJson;
  readonly image: SentImage;
}

export function BoxesView({ values, columns, spec, image: { file, scaledTo } }: BoxesProps) {
  const [least, setLeast] = useState(0.25);
  const [url, setUrl] = useState<string>();
  const [size, setSize] = useState<PixelSize>();
  useEffect(() => {
    const made = URL.createObjectURL(file);
    const measured = new Image();
    measured.onload = () => setSize({ width: measured.naturalWidth, height: measured.naturalHeight });
    measured.src = made;
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  if (url === undefined || size === undefined) return null;
  const hasScores = columns > 4;
  const from = scaledTo ?? size;
  const boxes = boxesOf(values, columns, spec.boxes!, from);
  const drawn = drawnBoxes(boxes, hasScores ? least : -Infinity, MOST_BOXES);
  const [right, down] = [size.width / from.width, size.height / from.height];
  const unit = Math.max(size.width, size.height) / 300;
  const nameOf = (kind: number | undefined) => (kind === undefined ? '' : (spec.labels?.[kind] ?? String(kind)));
  return (
    <div class="boxes">
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label={`${drawn.length} boxes of ${spec.name} on the image`}
      >
        <image href={url} width={size.width} height={size.height} />
        {drawn.map(({ x, y, width, height, score, kind }, index) => (
          <g key={index} class={`box-${(kind ?? 0) % COLOURS}`}>
            <rect x={x * right} y={y * down} width={width * right} height={height * down} stroke-width={unit} />
            <text
              x={x * right + 2 * unit}
              y={Math.max(9 * unit, y * down - 2 * unit)}
              font-size={9 * unit}
              stroke-width={2 * unit}
            >
              {nameOf(kind)} {score === undefined ? '' : score.toFixed(2)}
            </text>
          </g>
        ))}
      </svg>
      <div class="row">
        <span class="quiet">
          {drawn.length} of {boxes.length} boxes
        </span>
        {hasScores && (
          <label class="inline end">
            with a score of {least.toFixed(2)} or more{' '}
            <input
              type="range"
              min="0"
              max="1"
              step="0.05"
              value={least}
              onInput={(event) => setLeast(Number(event.currentTarget.value))}
            />
          </label>
        )}
      </div>
    </div>
  );
}
