// The goals as a picture: a bar each, as far as its figure is from the goal, on a scale where twice as good is as long as half
// as good. What reaches the goal lies right of the line.

import { verdictOf, wantedOf, type Goal } from '../goals.js';
import { formatFigure } from '../table.js';

const WIDTH = 1140;
const ROW = 22;
const HEAD = 64;
const FOOT = 14;
const LABELS = 580;
const FIGURES = 960;
/** Bars end at eight times the goal, either way. */
const MOST = 8;
const TICKS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];
/** By verdict: dark enough on white, and apart for those who do not tell red from green. */
const COLOURS = { better: '#1a7f5a', met: '#6aa84f', MISSED: '#d9822b' } as const;
const LEGEND = [
  ['better', 'beyond the goal'],
  ['met', 'goal met'],
  ['MISSED', 'missed'],
] as const;
const LONGEST_LABEL = 84;

/** How much better than its goal a figure is: 2 is twice as good, 0.5 half as good. */
export function scoreOf({ got, bound, target }: Goal): number {
  if (bound === 'at least') return got / target;
  // A difference may be less than nothing, and so may what is to be small.
  if (got <= 0) return target === got ? 1 : Infinity;
  return target / got;
}

export function goalsChart(goals: readonly Goal[]): string {
  const height = HEAD + goals.length * ROW + FOOT;
  const x = (score: number): number => {
    const clamped = Math.min(Math.max(score, 1 / MOST), MOST);
    return LABELS + ((Math.log2(clamped) + Math.log2(MOST)) / (2 * Math.log2(MOST))) * (FIGURES - LABELS);
  };
  const ticks = TICKS.map((tick) => {
    const at = x(tick).toFixed(1);
    const label = tick === 1 ? 'goal' : tick < 1 ? `1/${1 / tick}` : `${tick} x`;
    const stroke = tick === 1 ? '#333' : '#ddd';
    return (
      `<line x1="${at}" y1="${HEAD - 10}" x2="${at}" y2="${height - FOOT}" stroke="${stroke}"/>` +
      `<text x="${at}" y="${HEAD - 16}" text-anchor="middle" fill="#555">${label}</text>`
    );
  });
  const bars = goals.map((goal, i) => {
    const score = scoreOf(goal);
    const [from, to] = [x(1), x(Number.isNaN(score) ? 1 : score)].sort((a, b) => a - b) as [number, number];
    const middle = HEAD + i * ROW + ROW / 2;
    const text = (at: number, anchor: string, words: string): string =>
      `<text x="${at}" y="${middle + 4}" text-anchor="${anchor}">${escape(words)}</text>`;
    return [
      text(LABELS - 14, 'end', shortened(`${goal.id}  ${goal.what}`)),
      `<rect x="${from.toFixed(1)}" y="${middle - 7}" width="${Math.max(to - from, 2).toFixed(1)}" height="14" rx="2" fill="${COLOURS[verdictOf(goal)]}"/>`,
      text(FIGURES + 8, 'start', `${formatFigure(goal.got)} (${wantedOf({ ...goal, stretch: undefined })})`),
    ].join('');
  });
  const legend = LEGEND.map(([verdict, words], i) => {
    const at = LABELS + i * 140;
    return `<rect x="${at}" y="10" width="14" height="14" rx="2" fill="${COLOURS[verdict]}"/><text x="${at + 20}" y="22">${words}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="Helvetica, Arial, sans-serif" font-size="12">`,
    `<title>Measured figures beside their goals</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="14" y="24" font-size="16">Figures beside their goals: longer to the right is better</text>`,
    ...legend,
    ...ticks,
    ...bars,
    '</svg>',
    '',
  ].join('\n');
}

function shortened(text: string): string {
  return text.length <= LONGEST_LABEL ? text : `${text.slice(0, LONGEST_LABEL - 1)}…`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
