// What needs no chart: regions with small curves, series, spreads, provenance.
function tableOf(parent, id, columns, rows) {
  const scroll = element('div', { class: 'scroll', tabindex: '0' }, parent), table = element('table', { id }, scroll);
  const head = element('tr', {}, element('thead', {}, table));
  for (const [name, numeric] of columns) element('th', numeric ? { class: 'n' } : {}, head, name);
  const body = element('tbody', {}, table);
  for (const row of rows) {
    const line = element('tr', {}, body);
    row.forEach((cell, i) => {
      const place = element('td', columns[i][1] ? { class: 'n' } : {}, line);
      if (cell instanceof Node) place.append(cell); else place.textContent = cell;
    });
  }
  return table;
}

// A curve in the space of a word: the series while the region lasts.
function spark(series, begin, end) {
  const width = 84, height = 18, bins = 42, values = [];
  for (let k = 0; k < bins; ++k) values.push(valueAt(series, begin + (end - begin) * (k + 0.5) / bins));
  const known = values.filter((value) => value !== null);
  const high = Math.max(...known), low = series.kind === 'gauge' ? Math.min(...known) : Math.min(0, ...known);
  const place = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  place.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  place.setAttribute('class', 'spark');
  place.setAttribute('aria-hidden', 'true');
  if (known.length < 2 || !(high > low)) return place;
  let path = '', pen = 'M';
  values.forEach((value, k) => {
    if (value === null) { pen = 'M'; return; }
    path += pen + (k * width / (bins - 1)).toFixed(1) + ' ' + (height - 1 - (value - low) / (high - low) * (height - 2)).toFixed(1);
    pen = 'L';
  });
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  line.setAttribute('d', path);
  place.appendChild(line);
  return place;
}

function drawRegionTable() {
  const box = byId('regions'), table = data.region_totals;
  element('h2', {}, box, 'Regions');
  if (!table.rows.length) {
    element('p', { class: 'dim empty' }, box, 'The program marked no regions: PAPI_hl_region_begin, substrata-mark or the sections that ' +
      'an MPI program prints make them.');
    return;
  }
  const usual = usualSeries();
  let all = false;
  const place = element('div', {}, box);
  const draw = () => {
    place.textContent = '';
    const columns = table.series.map((index, c) => ({ series: data.series[index], index, c })).filter((one) => all || usual.includes(one.index));
    const head = [['Region'], ['Passes', true], ['Time', true], ['Share', true]].concat(columns.map(({ series }) =>
      [(labelOf(series) === series.name ? series.name : labelOf(series)) + (series.modelled ? ' (modelled)' : ''), true]));
    tableOf(place, 'region-table', head, table.rows.map((row) => {
      const name = element('span', { class: 'name' });
      element('i', { class: 'dot', style: 'background:' + regionColour(row.name) }, name);
      if (hasCharts) button(name, row.name, 'show its time', () => showRegion(row.name)).className = 'plain'; else name.append(row.name);
      if (row.open) name.append(' (not ended)');
      const passes = data.regions.filter((one) => one.name === row.name);
      const begin = Math.min(...passes.map((one) => one.begin)), end = Math.max(...passes.map((one) => one.end));
      return [name, String(row.passes), seconds(row.seconds), data.seconds > 0 ? (100 * row.seconds / data.seconds).toFixed(1) + ' %' : '–']
        .concat(columns.map(({ series, c }) => regionCell(series, row.cells[c], begin, end)));
    }));
  };
  draw();
  const toggle = button(box, 'All series', 'a column for each series', () => {
    all = !all;
    toggle.textContent = all ? 'Usual series' : 'All series';
    draw();
  });
  element('p', { class: 'dim' }, box, '~ and bounds: a region begins and ends between samples; the total lies between what was counted ' +
    'within and around it.');
  drawRegionPaths(box);
}

// A bar of a part of the longest, and what it says.
function shareOf(part, text) {
  const share = element('span', { class: 'part' });
  element('i', { style: 'width:' + (100 * part).toFixed(1) + '%;background:' + colour('accent') }, element('span', { class: 'share' }, share));
  element('span', {}, share, text);
  return share;
}

// Regions below those that they lay in, with the time that is their own as bars.
function drawRegionPaths(box) {
  const paths = data.paths || [];
  if (!paths.some((one) => one.depth > 0)) return;
  element('h3', {}, box, 'Call paths of the regions');
  const most = Math.max(...paths.map((one) => one.own));
  tableOf(box, 'region-paths', [['Path'], ['Passes', true], ['Time', true], ['Own time', true], ['Share']], paths.map((one) => {
    const name = element('span', { class: 'name', style: 'padding-left:' + 1.2 * one.depth + 'em' });
    element('i', { class: 'dot', style: 'background:' + regionColour(one.name) }, name);
    name.append(one.name);
    return [name, String(one.passes), seconds(one.seconds), seconds(one.own),
      shareOf(most > 0 ? one.own / most : 0, data.seconds > 0 ? (100 * one.own / data.seconds).toFixed(1) + ' %' : '–')];
  }));
  element('p', { class: 'dim' }, box, 'Own time: without the regions that lie in it. Of several ranks the sums.');
}
function regionCell(series, cell, begin, end) {
  const box = element('span', { class: 'cell' });
  if (cell === null || cell === undefined) { box.textContent = '–'; return box; }
  const gauge = series.kind === 'gauge', symbol = SYMBOLS[series.unit] || series.unit;
  // "105.3M" of bytes is 105.3 MB.
  const sign = /^[A-Z°]/.test(symbol);
  element('b', {}, box, cell.text === '-' ? '–' : sign ? cell.text.replace(/([kMGTPE]?)$/, ' $1' + symbol) : cell.text + (symbol ? ' ' + symbol : ''));
  const change = gauge ? cell.rise : cell.rate;
  if (change !== null) element('span', { class: 'dim' }, box, quantity(change, gauge ? series.unit + '/s' : unitOf(series)));
  // A curve needs some samples.
  const whole = element('span', { class: 'with-curve' });
  whole.append(box);
  if (isFinite(begin) && lowerBound(series.t, end) - lowerBound(series.t, begin) > 3) whole.prepend(spark(series, begin, end));
  return whole;
}

function drawSeriesTable() {
  const box = byId('series');
  const more = element('details', {}, box);
  element('summary', {}, more, 'All series: totals, means and limits');
  if (!hasCharts) more.open = true;
  tableOf(more, 'totals', [['Series'], ['Total', true], ['Mean', true], ['Least', true], ['Most', true], ['Writers or ranks', true],
    ['Deviation', true], ['Of'], ['Origin'], ['What it is']], data.series.map((one) => {
    const origin = element('span', {});
    badge(origin, one);
    return [element('code', {}, null, one.name), quantity(one.total, one.unit), quantity(one.mean, unitOf(one)), quantity(one.min, unitOf(one)),
      quantity(one.max, unitOf(one)), String(one.writers), quantity(one.deviation, one.unit), one.scope, origin, one.text];
  }));
  element('p', { class: 'dim' }, more, 'Means and limits of counts are rates; of several writers the mean is that of their sum, the limits are of single ' +
    'ones, and the deviation is that of their totals or mean levels.');
  if (!data.spreads.length) return;
  element('h3', {}, box, 'Spread over writers and ranks');
  tableOf(box, 'spreads', [['Of'], ['Writers or ranks', true], ['Least', true], ['Mean', true], ['Most', true], ['Deviation', true], ['What']],
    data.spreads.map((one) => [element('code', {}, null, one.name), String(one.count), quantity(one.min, one.unit), quantity(one.mean, one.unit),
      quantity(one.max, one.unit), quantity(one.deviation, one.unit), one.what]));
}

function drawProvenance() {
  const box = element('details', {}, byId('provenance'));
  element('summary', {}, box, 'Provenance: how the recording was made' + (data.overhead ? '; ' + data.overhead : ''));
  tableOf(box, 'how', [['What'], ['Value']], data.provenance.map(([name, value]) => [name, element('code', {}, null, value)]));
}
