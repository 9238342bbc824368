// One chart over time, with its latest values as text.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

import { HISTORY, type Point } from './figures.js';

export interface Series {
  readonly name: string;
  readonly of: (point: Point) => number | null;
  readonly isBad?: boolean;
}

interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly text: (value: number | null) => string;
  readonly points: readonly Point[];
}

const HEIGHT = 104;
/** The width of the texts at the side, and half the width of a time. */
const AXIS = 50;
const HALF_CLOCK = 24;
/** Seconds that are shown at least. */
const LEAST = 30;
const DARK = matchMedia('(prefers-color-scheme: dark)');

export function Chart({ title, series, text, points }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const last = points.at(-1);
  useEffect(() => {
    const element = place.current!;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element, series, text), dataOf(series, points), element);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    DARK.addEventListener('change', draw);
    return () => {
      DARK.removeEventListener('change', draw);
      resized.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => {
    plot.current?.setData(dataOf(series, points));
  }, [last?.at]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="title">{title}</span>
        {series.map((one, index) => (
          <span key={one.name} class={`key ${classOf(one, index)}`}>
            {one.name} <b>{text(last === undefined ? null : one.of(last))}</b>
          </span>
        ))}
      </figcaption>
      <div ref={place} aria-hidden="true" />
    </figure>
  );
}

function classOf({ isBad }: Series, index: number): string {
  return isBad === true ? 'line-bad' : `line-${index}`;
}

function dataOf(series: readonly Series[], points: readonly Point[]): uPlot.AlignedData {
  return [points.map(({ at }) => at), ...series.map((one) => points.map((point) => drawn(one, point)))];
}

/** A line of failures appears with the first one. */
function drawn({ of, isBad }: Series, point: Point): number | null {
  const value = of(point);
  return isBad === true && value === 0 ? null : value;
}

function options(element: HTMLElement, series: readonly Series[], text: ChartProps['text']): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${colour('--mono')}`;
  const axis = { stroke: colour('--quiet'), font, ticks: { show: false }, gap: 4 };
  const grid = { stroke: colour('--line'), width: 1 };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [6, 6, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'live' }, y: false, drag: { x: false, y: false }, points: { size: 5 } },
    scales: {
      x: { range: ({ data: [times] }) => timesShown(times) },
      // A line at zero lies at the bottom.
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.15 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 18,
        grid: { show: false },
        values: (plot, times) => times.map((time) => clock(plot, time)),
        space: 90,
      },
      { ...axis, size: AXIS, grid, values: (_, values) => values.map((value) => text(value)), space: 34 },
    ],
    series: [
      {},
      ...series.map((one, index) => {
        const stroke = colour(one.isBad === true ? '--bad' : `--line-${index}`);
        const fill = index === 0 && series.length < 3 ? `${stroke}1c` : '';
        return { stroke, width: 1.5, points: { show: false }, ...(fill !== '' && { fill }) };
      }),
    ],
  };
}

/** From the first of the times on, where they are few. Of one alone uPlot would show a day. */
function timesShown(times: ArrayLike<number>): [from: number, to: number] {
  const to = times[times.length - 1] ?? Date.now() / 1000;
  return [Math.max(to - HISTORY, Math.min(times[0] ?? to, to - LEAST)), to];
}

/** Nothing for a time whose text would be cut off at an edge. */
function clock(plot: uPlot, seconds: number): string {
  const at = plot.valToPos(seconds, 'x');
  if (at < HALF_CLOCK || at > plot.width - AXIS - HALF_CLOCK) return '';
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}
