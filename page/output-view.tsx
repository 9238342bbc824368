// One output of an answer: as a chart of scores, a table, numbers, texts, or an image. What a model gives is text here, or the source of
// an image; it is never markup.

import { useEffect, useState } from 'preact/hooks';

import type { DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import { BoxesView, type SentImage } from './boxes-view.js';
import { isFloat, shapeText, type Value } from './elements.js';
import { bestScores, imageType, isScores } from './outputs.js';
import type { GotTensor } from './infer.js';
import { percentage, size } from './texts.js';

/** More values than these are not shown. */
const MOST_SHOWN = 400;
/** More bars than these are not drawn. */
const MOST_BARS = 10;

interface OutputProps {
  readonly tensor: GotTensor;
  /** Undefined for an output that is not declared. */
  readonly spec: DeclaredTensorJson | undefined;
  readonly isBatched: boolean;
  /** The image of the request, for boxes. */
  readonly image: SentImage | undefined;
}

export function OutputView({ tensor, spec, isBatched, image }: OutputProps) {
  const shape = isBatched && tensor.shape[0] === 1 ? tensor.shape.slice(1) : tensor.shape;
  const columns = shape.at(-1) ?? 0;
  const hasBoxes = spec?.boxes !== undefined && image !== undefined && columns >= 4;
  const hasBars = !hasBoxes && isFloat(tensor.datatype) && shape.length === 1 && tensor.values.length > 1;
  const picture = hasBoxes ? 'Boxes' : hasBars ? 'Bars' : undefined;
  const [isPicture, setPicture] = useState<boolean>();
  const isDrawn = isPicture ?? (hasBoxes || spec?.labels !== undefined || isScores(tensor.values));
  const shows = isDrawn ? picture : undefined;
  return (
    <div class="output">
      <div class="field-head">
        <h3>{tensor.name}</h3>{' '}
        <span class="type">
          {spec?.dtype ?? tensor.datatype}
          {shapeText(shape)}
        </span>
        {picture !== undefined && (
          <span class="modes" role="group" aria-label={`How ${tensor.name} is shown`}>
            <button type="button" aria-pressed={isDrawn} onClick={() => setPicture(true)}>
              {picture}
            </button>
            <button type="button" aria-pressed={!isDrawn} onClick={() => setPicture(false)}>
              Numbers
            </button>
          </span>
        )}
      </div>
      {tensor.datatype === 'BYTES' ? (
        <Texts values={tensor.values} />
      ) : shows === 'Boxes' ? (
        <BoxesView values={tensor.values.map(Number)} columns={columns} spec={spec!} image={image!} />
      ) : shows === 'Bars' ? (
        <Bars values={tensor.values as readonly number[]} labels={spec?.labels} name={tensor.name} />
      ) : shape.length === 2 ? (
        <Table values={tensor.values} columns={shape[1]!} name={tensor.name} />
      ) : (
        <pre tabIndex={0}>{tensor.values.slice(0, MOST_SHOWN).map(numberText).join('  ')}</pre>
      )}
      {tensor.datatype !== 'BYTES' && shows === undefined && tensor.values.length > MOST_SHOWN && (
        <p class="quiet">the first of {tensor.values.length} values</p>
      )}
    </div>
  );
}

function numberText(value: Value): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(7)));
}

function Bars({
  values,
  labels,
  name,
}: {
  readonly values: readonly number[];
  readonly labels: readonly string[] | undefined;
  readonly name: string;
}) {
  const best = bestScores(values, MOST_BARS);
  // A probability fills its part of the bar; other values are measured by the largest.
  const areParts = isScores(values);
  const largest = areParts ? 1 : Math.max(...best.map(({ score }) => Math.abs(score)), Number.MIN_VALUE);
  return (
    <>
      <table class="bars" aria-label={`The highest values of ${name}`}>
        <tbody>
          {best.map(({ index, score }) => (
            <tr key={index}>
              <th scope="row">{labels?.[index] ?? index}</th>
              <td class="score">
                <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                  <rect width={(100 * Math.abs(score)) / largest} height="1" class={score < 0 ? 'negative' : ''} />
                </svg>
              </td>
              <td class="figure">{areParts ? percentage(score) : Number(score.toPrecision(4))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {values.length > best.length && (
        <p class="quiet">
          the {best.length} highest of {values.length}
        </p>
      )}
    </>
  );
}

function Table({
  values,
  columns,
  name,
}: {
  readonly values: readonly Value[];
  readonly columns: number;
  readonly name: string;
}) {
  const rows = Math.min(values.length / Math.max(1, columns), Math.ceil(MOST_SHOWN / Math.max(1, columns)));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={name}>
      <table class="grid">
        <tbody>
          {Array.from({ length: rows }, (_, row) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {values
                .slice(row * columns, Math.min((row + 1) * columns, row * columns + MOST_SHOWN))
                .map((value, column) => (
                  <td key={column}>{numberText(value)}</td>
                ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Texts({ values }: { readonly values: readonly Value[] }) {
  return (
    <>
      {values.slice(0, MOST_SHOWN).map((value, index) =>
        value instanceof Uint8Array ? (
          <Bytes key={index} bytes={value} />
        ) : (
          <pre key={index} class="prose" tabIndex={0}>
            {pretty(String(value))}
          </pre>
        ),
      )}
      {values.length > MOST_SHOWN && <p class="quiet">the first of {values.length} elements</p>}
    </>
  );
}

/** JSON with line breaks; anything else as it is. */
function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Pixels as an image, and anything else to be saved. */
function Bytes({ bytes }: { readonly bytes: Uint8Array }) {
  const type = imageType(bytes);
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes.slice()], { type: type ?? 'application/octet-stream' }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  if (url === undefined) return null;
  return (
    <div class="preview">
      {type !== undefined && <img src={url} alt="An image from the model" />}
      <a href={url} download={`output.${type?.split('/')[1] ?? 'bin'}`}>
        Save {size(bytes.length)}
      </a>
    </div>
  );
}
