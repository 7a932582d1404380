// Data of the page, elements, colours, and numbers in units that a person reads.
const data = JSON.parse(document.getElementById('data').textContent);
// Series that were sampled together share their times.
for (const series of data.series || []) series.t = data.times[series.t];
const hasCharts = typeof charts !== 'undefined';
const byId = (id) => document.getElementById(id);

function element(name, attributes, parent, text) {
  const made = document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}
function button(parent, text, title, action) {
  const made = element('button', { type: 'button', title: title }, parent, text);
  made.addEventListener('click', action);
  return made;
}
function badge(parent, series) {
  return element('span', { class: series.modelled ? 'badge modelled' : 'badge' }, parent,
    series.origin || (series.modelled ? 'modelled' : 'measured'));
}

const FONT = 'system-ui, sans-serif';

// Okabe and Ito's colours, which people with any colour blindness can distinguish; viridis for amounts; blue and orange
// for what goes together or against each other.
const REGION_COLOURS = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#B8A800', '#7F7F7F'];
const AMOUNTS = ['#440154', '#414487', '#2a788e', '#22a884', '#7ad151', '#fde725'];
const BOTH_WAYS = ['#D55E00', '#f2b48f', '#9aa4af22', '#8fbfe0', '#0072B2'];
const regionColours = new Map();
function regionColour(name) {
  if (!regionColours.has(name)) regionColours.set(name, REGION_COLOURS[regionColours.size % REGION_COLOURS.length]);
  return regionColours.get(name);
}
// A colour of the style sheet, as the theme has it now.
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

const PREFIXES = ['n', 'µ', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const SYMBOLS = { bytes: 'B', 'bytes/s': 'B/s', degC: '°C', 'degC/s': '°C/s' };
// Units that take no letter for thousands.
const PLAIN = new Set(['degC', 'degC/s', 'CPUs', '%', 'CPUs/s']);
const SMALL = new Set(['s', 'W', 'J', 'V', 'A', 'Hz', 's/s']);

// "1.53 GB/s", "51.6 °C", "12.3k faults/s". `like` makes the numbers of an axis alike: its largest value and its step.
function quantity(value, unit, like) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  const symbol = SYMBOLS[unit] || unit || '';
  const size = Math.abs(like ? like.most : value);
  let step = 3;
  if (!PLAIN.has(unit)) {
    while (step < 9 && size >= 999.5 * Math.pow(1000, step - 3)) ++step;
    while (step > 0 && SMALL.has(unit) && size > 0 && size < Math.pow(1000, step - 3)) --step;
  }
  const scale = Math.pow(1000, step - 3), number = value / scale;
  let text;
  if (like) text = number.toFixed(Math.min(6, Math.max(0, -Math.floor(Math.log10(like.step / scale) + 1e-9))));
  else if (unit === 'degC') text = number.toFixed(1);
  else if (Number.isInteger(number)) text = String(number);
  else if (Math.abs(number) < 0.001) text = number.toExponential(1);
  else text = String(+number.toPrecision(3));
  // A letter belongs to a symbol, else to the number.
  const sign = /^([A-Z°%]|s$|s\/)/.test(symbol) && !PLAIN.has(unit);
  if (!symbol) return text + PREFIXES[step];
  return sign ? text + ' ' + PREFIXES[step] + symbol
    : text + PREFIXES[step] + (symbol[0] === '/' ? '' : ' ') + symbol;
}
// The unit in which a series is drawn: that of its rate, or of its level.
function unitOf(series) {
  const unit = series.unit || '';
  return series.kind === 'gauge' ? unit : { s: 'CPUs', J: 'W' }[unit] || unit + '/s';
}
const seconds = (value, like) => quantity(value, 's', like);

// Steps of 1, 2 or 5 times a power of ten.
function niceStep(span, most) {
  const raw = span / Math.max(1, most), power = Math.pow(10, Math.floor(Math.log10(raw)));
  for (const factor of [1, 2, 5]) if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

// The first index whose time is not before `at`.
function lowerBound(times, at) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < at) low = middle + 1; else high = middle;
  }
  return low;
}
function valueAt(series, at) {
  const i = lowerBound(series.t, at);
  if (!series.t.length || i === series.t.length || (i === 0 && at < series.t[0] - 1e-9)) return null;
  if (i === 0 || series.kind !== 'gauge') return series.v[i];
  if (series.v[i] === null || series.v[i - 1] === null) return null;
  const share = (at - series.t[i - 1]) / (series.t[i] - series.t[i - 1] || 1);
  return series.v[i - 1] + share * (series.v[i] - series.v[i - 1]);
}

// What a person calls a series; its own name stands beside it.
const LABELS = [
  [/^(perf::TASK-CLOCK|process:::cpu:time|machine:busy)$/, 'CPUs busy'], [/^mpi:::(rank:)?bytes$/, 'MPI bytes'],
  [/^mpi:::(rank:)?messages$/, 'MPI messages'], [/^(perf::PAGE-FAULTS|process:::faults:minor)$/, 'Page faults'],
  [/^perf::CONTEXT-SWITCHES$/, 'Context switches'], [/^perf::CPU-MIGRATIONS$/, 'Moves between CPUs'],
  [/^process:::memory:resident$/, 'Resident memory'], [/^net:::(.*):rx:bytes$/, 'Received by $1'],
  [/^net:::(.*):tx:bytes$/, 'Sent by $1'], [/^thermal_model:::(.*):temperature$/, 'Temperature of $1'], [/^metric:::(.*)$/, '$1'],
  [/^infiniband:::(.*):port_xmit_data$/, 'Sent by $1'], [/^infiniband:::(.*):port_rcv_data$/, 'Received by $1'],
  [/^cxi:::(.*):hni_sts_tx_ok_octets$/, 'Sent by $1'], [/^cxi:::(.*):hni_sts_rx_ok_octets$/, 'Received by $1'],
  [/^nvml:::.*:device_(\d+):power$/, 'Power of GPU $1'], [/^nvml:::.*:device_(\d+):temperature$/, 'Temperature of GPU $1'],
  [/^(?:rocm|amd)_smi:::power_(?:average|current):device=(\d+).*$/, 'Power of GPU $1'],
  [/^(?:rocm|amd)_smi:::temp_current.*device=(\d+).*$/, 'Temperature of GPU $1'],
  [/^cray_pm:::PM_(?:POWER|ENERGY):NODE$/, 'Power of the node'], [/^powercap:::ENERGY_UJ:ZONE(\d+)$/, 'Power of zone $1'],
  [/^rapl:::PACKAGE_ENERGY:PACKAGE(\d+)$/, 'Power of package $1'], [/^intel_gpu:::energy_card:device=(\d+)$/, 'Power of GPU $1'],
];
// What a sensor measures stands in its unit, not in its name.
const SENSOR_UNITS = { degC: 'Temperature', W: 'Power', J: 'Power' };
function sensorLabel(series) {
  const [, chip, channel] = /^coretemp:::(?:thermal-)?([a-z0-9_]+)[^:]*:([^:]+)(?::average)?$/i.exec(series.name) || [];
  const kind = chip && SENSOR_UNITS[series.unit];
  return kind ? kind + ' of ' + (channel === 'temp' ? chip : chip + ', ' + channel.replaceAll('_', ' ')) : null;
}
function labelOf(series) {
  for (const [pattern, label] of LABELS) if (pattern.test(series.name)) return series.name.replace(pattern, label);
  return sensorLabel(series) || series.name;
}
const GROUPS = [
  ['Recorder', (series) => series.scope === 'recorder' || series.name.startsWith('recorder:')],
  ['MPI', (series) => /^mpi:::/.test(series.name)],
  ['GPU', (series) => /^(nvml|rocm_smi|amd_smi|intel_gpu):::/.test(series.name)],
  ['Network', (series) => /^(net|infiniband|cxi|myrinet|shrimp):::/.test(series.name)],
  ['Heat and power', (series) => /^(deg|W$|J$|V$|A$)/.test(series.unit)],
  ['Memory', (series) => /(FAULT|faults|memory|resident|bytes\/s)/.test(series.name + series.unit)],
  ['Storage', (series) => /^(io|appio|lustre|process:::(io|storage))/.test(series.name)],
  ['Processor', (series) => /^(perf|process|machine|cpufreq|stealtime|PAPI)/.test(series.name)],
];
function groupOf(series) {
  for (const [name, has] of GROUPS) if (has(series)) return name;
  return 'Others';
}

// What is shown at first: where time, bytes and heat go. Of each kind the first that changes.
function usualSeries() {
  const changing = (pattern) => data.series.findIndex((one) => one.changes && pattern.test(one.name));
  const first = (...patterns) => patterns.map(changing).find((index) => index >= 0);
  const busiest = (pattern) => data.series.map((one, index) => [one.total || 0, index])
    .filter(([, index]) => data.series[index].changes && pattern.test(data.series[index].name))
    .sort((a, b) => data.series[a[1]].name.includes(':lo:') - data.series[b[1]].name.includes(':lo:') || b[0] - a[0])
    .map(([, index]) => index)[0];
  const hottest = data.series.findIndex((one) => one.changes && one.unit === 'degC' && one.kind === 'gauge');
  // A level has a value at once and where a counter of energy stands still.
  const power = ['W', 'J'].map((unit) => data.series.findIndex((one) => one.changes && one.unit === unit)).find((i) => i >= 0);
  const metrics = data.series.map((one, index) => index)
    .filter((index) => data.series[index].changes && data.series[index].name.startsWith('metric:::'));
  const found = [first(/^perf::TASK-CLOCK$/, /^process:::cpu:time$/, /^machine:busy$/), ...metrics,
    first(/^mpi:::bytes$/, /^mpi:::rank:bytes$/), first(/^perf::PAGE-FAULTS$/, /^process:::faults:minor$/),
    busiest(/^net:::.*:rx:bytes$/), busiest(/^net:::.*:tx:bytes$/),
    busiest(/^(infiniband:::.*:port_xmit_data|cxi:::.*_tx_ok_octets)$/), hottest, power]
    // What the loopback receives it has sent.
    .filter((index) => index !== undefined && index >= 0 && !data.series[index].name.endsWith(':lo:tx:bytes'));
  if (found.length < 2)
    data.series.forEach((one, index) => {
      if (one.changes && groupOf(one) !== 'Recorder' && one.kind !== 'bin' && found.length < 6) found.push(index);
    });
  return Array.from(new Set(found));
}
