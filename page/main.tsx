// The page that a server shows at `/`: its models, a form that tries each of them, and what they do at the moment.

import { render } from 'preact';

import 'uplot/dist/uPlot.min.css';
import './page.css';
import { App } from './app.js';

render(<App />, document.getElementById('page')!);
