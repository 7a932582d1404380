// Charts beside time: what regions are like, what goes together, messages by size, the roofline.
const drawnPanels = [];  // {chart, box, option}: drawn anew where the theme or the width changes

function figure(parent, caption, height, option) {
  const made = element('figure', {}, parent);
  element('figcaption', {}, made, caption);
  const box = element('div', { class: 'chart', style: 'height:' + height + 'px' }, made);
  drawnPanels.push({ box, option, chart: null });
  return made;
}
function drawPanels() {
  for (const one of drawnPanels) {
    if (!one.chart) one.chart = charts.init(one.box, null, { renderer: 'canvas' });
    one.chart.resize();
    one.chart.setOption({ animation: false, aria: { enabled: true }, textStyle: { color: colour('dim'), fontFamily: FONT }, ...one.option(one.chart.getWidth()) },
      { notMerge: true });
  }
}
const brief = (name, most) => name.length <= most ? name : name.slice(0, Math.floor(most * 0.4)) + '…' + name.slice(-Math.floor(most * 0.5));

// Rows and columns of numbers as cells; `shade` gives what the colour stands for, `text` what the pointer shows.
function grid(parent, caption, rows, columns, values, options) {
  const longest = Math.max(...columns.map((name) => brief(name, 22).length));
  const foot = options.flat ? 24 : Math.min(150, 18 + longest * 4.6), height = rows.length * 22 + foot + 46;
  figure(parent, caption, height, (width) => {
    const left = Math.min(width / 3, 14 + 6.2 * Math.max(...rows.map((name) => Math.min(name.length, 26))));
    const cellsOf = [];
    values.forEach((row, r) => row.forEach((value, c) => {
      if (value !== null && value !== undefined) cellsOf.push([c, r, options.shade(value, r, c), value]);
    }));
    return {
      grid: { left, right: 12, top: 30, bottom: foot },
      xAxis: { type: 'category', data: columns, axisTick: { show: false }, splitArea: { show: false },
        axisLabel: { rotate: options.flat ? 0 : 50, fontSize: 11, color: colour('dim'), interval: options.flat ? 'auto' : 0, hideOverlap: options.flat,
          formatter: (name) => brief(name, 22) } },
      yAxis: { type: 'category', data: rows, inverse: true, axisTick: { show: false },
        axisLabel: { fontSize: 11, color: colour('dim'), width: left - 10, overflow: 'truncate' } },
      visualMap: { type: 'continuous', dimension: 2, min: options.range[0], max: options.range[1], inRange: { color: options.colours },
        orient: 'horizontal', right: 8, top: 2, itemWidth: 9, itemHeight: 90, padding: 0, hoverLink: false,
        text: [options.ends[1], options.ends[0]], textStyle: { color: colour('dim'), fontSize: 11 } },
      tooltip: { confine: true, backgroundColor: colour('paper'), borderColor: colour('rule'), textStyle: { color: colour('ink'), fontSize: 12 },
        formatter: (one) => element('p', {}, null, rows[one.value[1]] + ', ' + columns[one.value[0]] + ': ' +
          options.text(one.value[3], one.value[1], one.value[0])).innerHTML },
      series: [{ type: 'heatmap', data: cellsOf, itemStyle: { borderWidth: 1, borderColor: colour('paper') } }],
    };
  });
}
const named = (series) => series.name + (series.modelled ? ' (modelled)' : '');

// What each region is like: every series against the region in which it is largest.
function signatures(box) {
  const table = data.region_totals, used = table.series.map((index) => data.series[index]);
  const cellOf = (row, c) => row.cells[c] === null ? null : used[c].kind === 'gauge' ? row.cells[c].rise : row.cells[c].rate;
  const values = table.rows.map((row) => used.map((series, c) => cellOf(row, c)));
  const filled = used.map((series, c) => values.some((row) => row[c] !== null && row[c] !== 0));
  const columns = used.map((series, c) => c).filter((c) => filled[c]);
  if (!table.rows.length) return 'The program marked no regions, so there are no signatures of them.';
  if (!columns.length) return 'The regions are shorter than the time between samples: they have no signatures.';
  const largest = columns.map((c) => Math.max(...values.map((row) => Math.abs(row[c] || 0))));
  grid(box, 'Signatures of the regions: each column against its largest region; counts by their rate, levels by their rise a second',
    table.rows.map((row) => row.name), columns.map((c) => named(used[c])), values.map((row) => columns.map((c) => row[c])), {
      colours: BOTH_WAYS, range: [-1, 1], ends: ['falls', 'largest'], shade: (value, r, c) => largest[c] > 0 ? value / largest[c] : 0,
      text: (value, r, c) => quantity(value, used[columns[c]].kind === 'gauge' ? used[columns[c]].unit + '/s' : unitOf(used[columns[c]])) });
  return '';
}

function correlations(box) {
  const { series, r } = data.correlation;
  const some = r.some((row, i) => row.some((value, k) => i !== k && value !== null));
  if (series.length < 2 || !some) return 'No two series change independently of each other: there is nothing to correlate.';
  const names = series.map((index) => named(data.series[index]));
  grid(box, 'What goes together: correlation without lag (substrata correlate finds lag, gain and significance)', names, names, r, {
    colours: BOTH_WAYS, range: [-1, 1], ends: ['against', 'together'], shade: (value) => value, text: (value) => value.toFixed(2) });
  return '';
}

// What the recording carries under this name, where it can be read.
function attached(name) {
  return data.attachments.filter((one) => one.name === name).flatMap((one) => {
    try { return [JSON.parse(one.content)]; } catch (error) { return []; }
  });
}

// Message sizes by phase, from the summary of the MPI shim.
function messages(box) {
  for (const summary of attached('mpi-summary')) {
    const phases = new Map(), powers = new Set();
    for (const rank of summary.ranks || [])
      for (const phase of rank.phases || []) {
        if (!phases.has(phase.name)) phases.set(phase.name, new Map());
        for (const size in phase.sizes_sent || {}) {
          const power = Number(size) === 0 ? -1 : Math.floor(Math.log2(Number(size))), bins = phases.get(phase.name);
          powers.add(power);
          bins.set(power, (bins.get(power) || 0) + phase.sizes_sent[size]);
        }
      }
    const columns = Array.from(powers).sort((a, b) => a - b), rows = Array.from(phases.keys()).filter((name) => phases.get(name).size);
    if (!rows.length) continue;
    const values = rows.map((name) => columns.map((power) => phases.get(name).has(power) ? phases.get(name).get(power) : null));
    const most = Math.max(1, ...values.flat().map((value) => value || 0));
    const size = (power) => power < 0 ? '0 B' : power < 10 ? 2 ** power + ' B' : power < 20 ? 2 ** (power - 10) + ' KiB' : 2 ** (power - 20) + ' MiB';
    grid(box, 'Messages by region and size (sizes by powers of two, colours by logarithm)', rows, columns.map(size), values, {
      flat: true, colours: AMOUNTS, range: [0, Math.log10(most)], ends: ['1', quantity(most, '')], shade: (value) => Math.log10(value),
      text: (value) => quantity(value, 'messages') });
  }
}

// Histograms that modelled monitors kept of the command's messages, where the recording carries them.
function monitorHistograms(box) {
  for (const kept of attached('histograms')) {
    for (const one of kept && Array.isArray(kept.histograms) ? kept.histograms : []) {
      const values = one.counts.map((row) => row.map((count) => count || null)), most = Math.max(1, ...one.counts.flat());
      if (!values.length) continue;
      grid(box, one.title + (one.modelled ? ', modelled' : '') + ' (colours by logarithm)', one.rows, one.columns, values, {
        flat: true, colours: AMOUNTS, range: [0, Math.log10(most)], ends: ['1', quantity(most, '')], shade: (value) => Math.log10(value),
        text: (value) => quantity(value, 'packets') });
    }
  }
}

// Roofs of all cores and points, where the recording carries what `substrata roofline --json` wrote.
function roofline(box) {
  for (const roofs of attached('roofline')) {
    const points = (roofs.points || []).filter((one) => one.flops_per_second && one.flops_per_byte);
    const ratesOf = (list) => (list || []).filter((one) => one.all > 0).map((one) => ({ name: one.name, value: one.all }));
    const peaks = ratesOf(roofs.flops_per_second), slopes = ratesOf(roofs.bytes_per_second);
    if (!peaks.length || !slopes.length) continue;
    const top = Math.max(...peaks.map((one) => one.value));
    const xs = points.map((one) => one.flops_per_byte).concat(slopes.map((one) => top / one.value));
    const low = Math.min(...xs) / 4, high = Math.max(...xs) * 4, ys = points.map((one) => one.flops_per_second);
    const line = (name, values, dashed) => ({ type: 'line', name, data: values, symbol: 'none', silent: true, lineStyle: { width: 1.5, type: dashed ? 'dashed' : 'solid' },
      endLabel: { show: true, formatter: name, color: colour('dim'), fontSize: 11, align: 'right', offset: [-6, -8] } });
    figure(box, 'Roofline: FLOP/s over FLOP a byte; sloped lines are bandwidths, level ones peaks of ' + (roofs.processor || 'this processor'), 380, () => ({
      grid: { left: 84, right: 20, top: 24, bottom: 46 }, color: REGION_COLOURS,
      tooltip: { confine: true, backgroundColor: colour('paper'), borderColor: colour('rule'), textStyle: { color: colour('ink'), fontSize: 12 },
        formatter: (one) => element('p', {}, null, one.name + ': ' + quantity(one.value[1], 'FLOP/s') + ', ' + quantity(one.value[0], 'FLOP/B')).innerHTML },
      xAxis: { type: 'log', min: low, max: high, name: 'FLOP/B', nameLocation: 'middle', nameGap: 28, axisLabel: { formatter: (value) => String(+value.toPrecision(2)) },
        splitLine: { lineStyle: { color: colour('rule') } } },
      yAxis: { type: 'log', min: Math.min(...ys, low * Math.min(...slopes.map((one) => one.value))), max: top * 2,
        axisLabel: { formatter: (value) => quantity(value, 'FLOP/s') }, splitLine: { lineStyle: { color: colour('rule') } } },
      series: slopes.map((one) => line(one.name, [[low, low * one.value], [top / one.value, top]]))
        .concat(peaks.map((one) => line(one.name, [[Math.min(...slopes.map((slope) => one.value / slope.value)), one.value], [high, one.value]], true)))
        .concat([{ type: 'scatter', symbolSize: 11, data: points.map((one) => ({ name: one.name, value: [one.flops_per_byte, one.flops_per_second] })),
          label: { show: true, position: 'right', formatter: '{b}', color: colour('ink') } }]) }));
  }
}

function setUpPanels() {
  const box = byId('panels');
  element('h2', {}, box, 'Patterns');
  const all = element('div', { class: 'panes' }, box);
  const words = [signatures(all), correlations(all)];
  messages(all);
  monitorHistograms(all);
  roofline(all);
  for (const text of words) if (text) element('p', { class: 'dim empty' }, box, text);
}
