// Series over one axis of time, with the regions above and writers as heat maps below; zoom; values under the pointer.
const whole = [0, data.seconds > 0 ? data.seconds : 1];
let view = whole.slice();
let panels = [];  // what is drawn, from the top: {kind, index, top, height}
let timeChart = null;
let shownLines = new Set();
let shownMaps = new Set();
const PANEL = 72, BAND = 17, TITLE = 20, FOOT = 62;
const regionDepth = () => data.regions.reduce((most, one) => Math.max(most, Math.min(one.depth, 3) + 1), 0);

// Histograms of monitors: bins whose names differ in a number only are one map.
function histograms() {
  const sets = new Map();
  data.series.forEach((series, index) => {
    if (series.kind !== 'bin') return;
    const number = series.name.match(/(\d+)(?!.*\d)/);
    if (!number) return;
    const key = series.name.slice(0, number.index) + '#' + series.name.slice(number.index + number[0].length);
    if (!sets.has(key)) sets.set(key, []);
    sets.get(key).push([Number(number[0]), index]);
  });
  return Array.from(sets, ([name, bins]) => ({ name, bins: bins.sort((a, b) => a[0] - b[0]) }))
    .filter((one) => one.bins.length > 2);
}
// All heat maps that there are: by writer, and histograms. Rows of values in equal stretches of the whole time.
let maps = [];
function findMaps() {
  maps = [];
  data.series.forEach((series, index) => {
    if (!series.rows) return;
    // What all names begin with says nothing.
    const names = series.rows.names, first = names[0].split(' ').slice(0, -2).join(' ') + ' ';
    const short = names.every((name) => name.startsWith(first)) ? names.map((name) => name.split(first).join('')) : names;
    maps.push({ key: 'rows:' + series.name, index, names: short, values: series.rows.values, series,
      label: labelOf(series) + (series.scope === 'rank' ? ' by rank' : ' by writer') });
  });
  for (const { name, bins } of histograms()) {
    const series = data.series[bins[0][1]], count = 120;
    const values = bins.map(([, index]) => Array.from({ length: count },
      (unused, k) => valueAt(data.series[index], whole[1] * (k + 0.5) / count)));
    maps.push({ key: 'bins:' + name, index: bins[0][1], names: bins.map(([number]) => String(number)), values, series,
      label: 'Histogram ' + name });
  }
}

// The axis of a series over what is in view: limits on steps of 1, 2 or 5, so that no two labels are the same.
function axisOf(series) {
  const from = Math.max(0, lowerBound(series.t, view[0]) - 1), to = Math.min(series.t.length, lowerBound(series.t, view[1]) + 1);
  let low = Infinity, high = -Infinity;
  for (let i = from; i < to; ++i) {
    const under = series.lo && series.lo[i] !== null ? series.lo[i] : series.v[i];
    const over = series.hi && series.hi[i] !== null ? series.hi[i] : series.v[i];
    if (under !== null && under < low) low = under;
    if (over !== null && over > high) high = over;
  }
  if (!(low <= high)) { low = 0; high = 1; }
  if (series.kind !== 'gauge') { low = Math.min(low, 0); high = Math.max(high, 0); }
  if (high === low) { high += Math.abs(high) * 0.02 || 1; if (low !== 0) low -= Math.abs(low) * 0.02; }
  const step = niceStep(high - low, 2);
  return { min: Math.floor(low / step + 1e-9) * step, max: Math.ceil(high / step - 1e-9) * step, interval: step };
}
function valueAxis(series) {
  const axis = axisOf(series), like = { most: Math.max(Math.abs(axis.min), Math.abs(axis.max)), step: axis.interval };
  return { ...axis, type: 'value', axisLabel: { color: colour('dim'), fontSize: 11, hideOverlap: true,
    formatter: (value) => value === 0 ? '0' : quantity(value, unitOf(series), like) },
    splitLine: { lineStyle: { color: colour('rule') } }, axisPointer: { show: false } };
}

function regionBands(axis) {
  const drawn = data.regions.map((one, index) => [one.begin, one.end, Math.min(one.depth, 3), index]);
  return { type: 'custom', xAxisIndex: axis, yAxisIndex: axis, data: drawn, encode: { x: [0, 1], y: 2 }, clip: true,
    renderItem: (params, api) => {
      const region = data.regions[api.value(3)];
      const begin = api.coord([api.value(0), api.value(2)]), end = api.coord([api.value(1), api.value(2)]);
      const left = Math.max(begin[0], params.coordSys.x), right = Math.min(end[0], params.coordSys.x + params.coordSys.width);
      const fill = regionColour(region.name), width = Math.max(2, right - left);
      return right < params.coordSys.x || left > params.coordSys.x + params.coordSys.width ? null : { type: 'rect',
        shape: { x: left, y: begin[1] - BAND / 2 + 1, width, height: BAND - 2, r: 2 }, style: { fill },
        textContent: width < 24 ? undefined : { style: { text: region.name, width: width - 6, overflow: 'truncate', ellipsis: '…',
          fill: /E69F00|56B4E9|B8A800/.test(fill) ? '#000' : '#fff', fontSize: 11 } },
        textConfig: { position: 'insideLeft', distance: 4 } };
    } };
}
// Regions of the outermost depth shade the panels.
function shades(axis) {
  return { type: 'custom', xAxisIndex: axis, yAxisIndex: axis, silent: true, z: 0, clip: true,
    data: data.regions.filter((one) => one.depth === 0).map((one) => [one.begin, one.end, REGION_COLOURS.indexOf(regionColour(one.name))]),
    encode: { x: [0, 1] },
    renderItem: (params, api) => {
      const { x, y, width, height } = params.coordSys;
      const left = Math.max(x, api.coord([api.value(0), 0])[0]), right = Math.min(x + width, api.coord([api.value(1), 0])[0]);
      return right <= left ? null : { type: 'rect', shape: { x: left, y, width: right - left, height },
        style: { fill: REGION_COLOURS[api.value(2)], opacity: 0.09 } };
    } };
}
function band(axis, series) {
  const points = series.t.map((t, i) => [t, series.lo[i], series.hi[i]]).filter((one) => one[1] !== null);
  return { type: 'custom', xAxisIndex: axis, yAxisIndex: axis, silent: true, clip: true, data: [[0, 0]],
    renderItem: (params, api) => {
      const at = (x, y) => api.coord([x, y]);
      return { type: 'polygon', style: { fill: colour(series.modelled ? 'model' : 'accent'), opacity: 0.22 },
        shape: { points: points.map((one) => at(one[0], one[2])).concat(points.slice().reverse().map((one) => at(one[0], one[1]))) } };
    } };
}
function lines(axis, series) {
  const ink = colour(series.modelled ? 'model' : 'accent'), out = [shades(axis)];
  if (series.lo) out.push(band(axis, series));
  out.push({ type: 'line', xAxisIndex: axis, yAxisIndex: axis, name: series.name, data: series.t.map((t, i) => [t, series.v[i]]),
    step: series.kind === 'gauge' ? false : 'start', symbol: 'none', silent: true, animation: false,
    lineStyle: { color: ink, width: 1.4, type: series.modelled ? [6, 3] : 'solid' },
    areaStyle: series.kind === 'gauge' ? undefined : { color: ink, opacity: 0.13 },
 });
  return out;
}
function cells(axis, map) {
  const count = map.values[0].length, out = [];
  map.values.forEach((row, r) => row.forEach((value, k) => {
    if (value !== null) out.push([whole[1] * k / count, whole[1] * (k + 1) / count, r, value]);
  }));
  return { type: 'custom', xAxisIndex: axis, yAxisIndex: axis, silent: true, clip: true, data: out, encode: { x: [0, 1], y: 2 },
    renderItem: (params, api) => {
      const begin = api.coord([api.value(0), api.value(2)]), end = api.coord([api.value(1), api.value(2)]);
      const tall = api.size([0, 1])[1], x = Math.round(begin[0]), y = Math.round(begin[1] - tall / 2);
      return { type: 'rect', shape: { x, y, width: Math.round(end[0]) - x, height: Math.round(begin[1] + tall / 2) - y },
        style: { fill: api.visual('color') } };
    } };
}
function rangeOf(map) {
  let low = Infinity, high = -Infinity;
  for (const value of map.values.flat()) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(low <= high)) return [0, 1];
  if (map.series.kind !== 'gauge') low = Math.min(0, low);
  return [low, high > low ? high : low + 1];
}

// Labels stand below, and above the regions.
function timeAxis(panel, last) {
  const top = panels[panel].kind === 'regions', ends = top || last;
  const step = Math.min(niceStep(view[1] - view[0], Math.max(2, (timeChart.getWidth() - 100) / 100)), niceStep(view[1] - view[0], 12));
  // The digits that labels have; an end of the view that needs more of them has none.
  const digit = Math.pow(10, Math.floor(Math.log10(step) + 1e-9));
  const round = (value) => Math.abs(value / digit - Math.round(value / digit)) < 1e-3;
  return { type: 'value', gridIndex: panel, min: whole[0], max: whole[1], minInterval: 0,
    position: top ? 'top' : 'bottom', axisLine: { show: ends, onZero: false, lineStyle: { color: colour('rule') } },
    axisTick: { show: ends }, splitLine: { lineStyle: { color: colour('rule'), opacity: 0.6 } },
    axisLabel: { show: ends, color: colour('dim'), fontSize: 11, hideOverlap: true, showMinLabel: true,
      formatter: (value) => value < view[0] - 1e-9 || value > view[1] + 1e-9 || !round(value) ? ''
        : value === 0 ? '0' : seconds(value, { most: view[1], step }) },
    axisPointer: { show: true, type: 'line', label: { show: false }, lineStyle: { color: colour('dim') }, triggerTooltip: false } };
}

// Everything at once, as ECharts takes it.
function timeOption() {
  const option = { animation: false, textStyle: { fontFamily: FONT }, grid: [], xAxis: [], yAxis: [], series: [], title: [], visualMap: [],
    aria: { enabled: true, label: { description: 'Time lines of ' + data.title + ': ' + panels.map((one) => one.label).join(', ') } },
    axisPointer: { link: [{ xAxisIndex: 'all' }] }, tooltip: { show: true, trigger: 'axis', showContent: false },
    toolbox: { left: -100, feature: { dataZoom: { yAxisIndex: 'none', filterMode: 'none' } } } };
  const narrow = timeChart.getWidth() < 560, left = narrow ? 58 : 84;
  panels.forEach((panel, i) => {
    option.grid.push({ left, right: 14, top: panel.top, height: panel.height });
    option.xAxis.push(timeAxis(i, i === panels.length - 1));
    if (panel.kind === 'regions') {
      option.yAxis.push({ gridIndex: i, type: 'value', min: -0.5, max: panel.rows - 0.5, inverse: true, show: false });
      option.series.push(regionBands(i));
    } else if (panel.kind === 'line') {
      option.yAxis.push({ gridIndex: i, ...valueAxis(panel.series) });
      option.series.push(...lines(i, panel.series));
    } else {
      option.yAxis.push({ gridIndex: i, type: 'category', data: panel.map.names, inverse: panel.map.key.startsWith('rows'),
        axisTick: { show: false }, axisLine: { show: false }, axisPointer: { show: false },
        axisLabel: { color: colour('dim'), fontSize: 11, width: left - 10, overflow: 'truncate' } });
      const [low, high] = rangeOf(panel.map), unit = unitOf(panel.series);
      option.visualMap.push({ type: 'continuous', seriesIndex: option.series.length, dimension: 3, min: low, max: high,
        inRange: { color: AMOUNTS }, orient: 'horizontal', right: 10, top: panel.top - TITLE - 3, itemWidth: 9, hoverLink: false,
        itemHeight: narrow ? 40 : 110, text: [quantity(high, unit), quantity(low, unit)], padding: 0,
        textStyle: { color: colour('dim'), fontSize: 11 } });
      option.series.push(cells(i, panel.map));
    }
    if (panel.kind === 'regions') return;
    option.title.push({ left: 4, top: panel.top - TITLE, padding: 0, text: '{a|' + panel.label + '}{b|' + panel.about + '}',
      textStyle: { width: timeChart.getWidth() - (panel.kind === 'map' ? narrow ? 170 : 330 : 20), overflow: 'truncate',
        fontFamily: FONT,
        rich: { a: { color: colour('ink'), fontWeight: 600, fontSize: 12, fontFamily: FONT },
          b: { color: colour(panel.series.modelled ? 'model' : 'dim'), fontWeight: 400, fontSize: 12, fontFamily: FONT } } } });
  });
  const all = panels.map((panel, i) => i);
  option.dataZoom = [
    { type: 'inside', xAxisIndex: all, filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: 'shift', moveOnMouseMove: false,
      startValue: view[0], endValue: view[1] },
    { type: 'slider', xAxisIndex: all, filterMode: 'none', startValue: view[0], endValue: view[1], bottom: 6, height: 20, left, right: 14,
      brushSelect: false, showDetail: false, borderColor: colour('rule'), fillerColor: colour('accent') + '22', handleSize: '90%' }];
  return option;
}

function layOut() {
  panels = [];
  let top = data.regions.length ? 22 : 2;
  if (data.regions.length) {
    const rows = regionDepth();
    panels.push({ kind: 'regions', rows, top, height: rows * BAND, label: 'regions' });
    top += rows * BAND + 8;
  }
  const add = (panel) => {
    top += TITLE;
    panels.push({ ...panel, top });
    top += panel.height + 14;
  };
  const about = (series) => '  ' + (labelOf(series) === series.name ? '' : series.name + ', ') + series.scope +
    (series.writers > 1 ? ' of ' + series.writers + (series.scope === 'rank' ? ' ranks' : ' writers') : '') + ', ' + (series.origin || 'measured');
  for (const index of shownLines) {
    const series = data.series[index];
    add({ kind: 'line', index, series, height: PANEL, label: labelOf(series), about: about(series) });
    maps.filter((map) => labelOf(map.series) === labelOf(series)).forEach(addMap);
  }
  function addMap(map) {
    if (!shownMaps.has(map.key) || panels.some((panel) => panel.map === map)) return;
    add({ kind: 'map', map, series: map.series, label: map.label, about: ', ' + (map.series.origin || 'measured'),
      height: Math.min(320, Math.max(40, map.names.length * 13)) });
  }
  maps.forEach(addMap);
  return top + FOOT - 14;
}

function drawTimes() {
  const box = byId('lines'), empty = byId('nothing');
  const height = layOut();
  empty.hidden = panels.some((panel) => panel.kind !== 'regions');
  box.hidden = !empty.hidden;
  if (!empty.hidden) return;
  box.style.height = height + 'px';
  if (!timeChart) {
    timeChart = charts.init(box, null, { renderer: 'canvas' });
    timeChart.on('datazoom', () => {
      const zoom = timeChart.getOption().dataZoom[0];
      view = [Math.max(whole[0], zoom.startValue), Math.min(whole[1], zoom.endValue)];
      timeChart.setOption({ xAxis: panels.map((panel, i) => timeAxis(i, i === panels.length - 1)),
        yAxis: panels.map((panel) => panel.kind === 'line' ? valueAxis(panel.series) : {}) }, { lazyUpdate: true });
      showWindow();
    });
    timeChart.getZr().on('dblclick', () => show(whole[0], whole[1]));
    timeChart.getZr().on('mousemove', showValues);
    timeChart.getZr().on('globalout', () => { byId('tip').hidden = true; });
  }
  timeChart.resize();
  timeChart.setOption(timeOption(), { notMerge: true });
  // Dragging selects a stretch; where fingers scroll, the slider does.
  if (!matchMedia('(pointer: coarse)').matches)
    timeChart.dispatchAction({ type: 'takeGlobalCursor', key: 'dataZoomSelect', dataZoomSelectActive: true });
  showWindow();
}

function showWindow() {
  byId('window').textContent = seconds(view[0]) + ' to ' + seconds(view[1]);
}
function show(from, to) {
  const least = Math.max((whole[1] - whole[0]) * 1e-6, 1e-6);
  const span = Math.min(Math.max(to - from, least), whole[1] - whole[0]);
  const start = Math.min(Math.max(from, whole[0]), whole[1] - span);
  view = [start, start + span];
  if (timeChart) timeChart.dispatchAction({ type: 'dataZoom', dataZoomIndex: 0, startValue: view[0], endValue: view[1] });
}
const zoom = (factor) => {
  const centre = (view[0] + view[1]) / 2;
  show(centre - (centre - view[0]) * factor, centre + (view[1] - centre) * factor);
};
const move = (share) => show(view[0] + share * (view[1] - view[0]), view[1] + share * (view[1] - view[0]));
function showRegion(name) {
  const passes = data.regions.filter((one) => one.name === name);
  if (!passes.length) return;
  const begin = Math.min(...passes.map((one) => one.begin)), end = Math.max(...passes.map((one) => one.end));
  show(begin - (end - begin) * 0.02, end + (end - begin) * 0.02);
  byId('times').scrollIntoView({ behavior: 'smooth' });
}

// The panel under the pointer: its value, and the regions of that time.
function showValues(event) {
  const tip = byId('tip'), index = panels.findIndex((panel, i) => timeChart.containPixel({ gridIndex: i }, [event.offsetX, event.offsetY]));
  tip.hidden = index < 0;
  if (index < 0) return;
  const panel = panels[index], [at, row] = timeChart.convertFromPixel({ gridIndex: index }, [event.offsetX, event.offsetY]);
  tip.textContent = '';
  element('b', {}, tip, seconds(at, { most: view[1], step: (view[1] - view[0]) / 500 }));
  // Two pixels are as wide as the shortest region is drawn.
  const near = 2 * (view[1] - view[0]) / timeChart.getWidth();
  const inside = data.regions.filter((one) => one.begin - near <= at && at <= one.end + near &&
    (panel.kind !== 'regions' || Math.min(one.depth, 3) === Math.round(row)));
  const names = Array.from(new Set(inside.map((one) => one.name)));
  if (names.length) element('div', {}, tip, names.slice(0, 3).join(', ') + (names.length > 3 ? ' and ' + (names.length - 3) + ' more' : ''));
  if (panel.kind === 'regions' && inside.length === 1)
    element('div', {}, tip, seconds(inside[0].end - inside[0].begin) + (inside[0].open ? ', its end is not in the recording' : ''));
  if (panel.kind === 'line') element('div', {}, tip, panel.label + ': ' + quantity(valueAt(panel.series, at), unitOf(panel.series)));
  if (panel.kind === 'map' && panel.map.names[row] !== undefined) {
    const values = panel.map.values[row];
    const value = values[Math.min(values.length - 1, Math.max(0, Math.floor(at / whole[1] * values.length)))];
    element('div', {}, tip, panel.map.names[row] + ': ' + quantity(value, unitOf(panel.series)));
  }
  if (panel.series && panel.series.modelled) element('div', { class: 'modelled' }, tip, 'modelled');
  const box = byId('lines').getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(box.left + event.offsetX + 14, window.innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = Math.max(4, Math.min(box.top + event.offsetY + 14, window.innerHeight - tip.offsetHeight - 8)) + 'px';
}

// The picture as it stands, for a paper: light, as SVG or PNG.
function pictureSvg() {
  const height = byId('lines').clientHeight;
  const copy = charts.init(null, null, { renderer: 'svg', ssr: true, width: timeChart.getWidth(), height });
  copy.setOption({ ...timeOption(), backgroundColor: colour('paper') });
  const text = copy.renderToSVGString();
  copy.dispose();
  return text;
}
function save(href, name) {
  const link = element('a', { href, download: name });
  link.click();
}

function chooser(parent) {
  const more = element('details', { id: 'choose' }, parent);
  const title = element('summary', {}, more);
  const count = () => { title.textContent = 'Series: ' + shownLines.size + ' of ' + data.series.length + ' shown'; };
  const groups = new Map();
  data.series.forEach((series, index) => {
    const name = groupOf(series);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(index);
  });
  const tick = (box, label, set, key, title) => {
    const line = element('label', { title: title || '' }, box);
    const input = element('input', { type: 'checkbox' }, line);
    input.checked = set.has(key);
    input.addEventListener('change', () => {
      if (input.checked) set.add(key); else set.delete(key);
      count();
      drawTimes();
    });
    line.append(' ' + label);
    return line;
  };
  const order = GROUPS.map(([name]) => name).reverse().concat('Others').filter((name) => name !== 'Recorder').concat('Recorder');
  for (const name of order) {
    if (!groups.has(name)) continue;
    const box = element('fieldset', {}, more);
    element('legend', {}, box, name);
    for (const index of groups.get(name)) {
      const series = data.series[index];
      const line = tick(box, series.name, shownLines, index, series.text);
      if (series.modelled) badge(line, series);
      for (const map of maps.filter((one) => one.index === index))
        tick(box, map.label, shownMaps, map.key, 'as a heat map');
    }
  }
  count();
}

// Series that stay what they are need no curve.
function constants(parent) {
  const still = data.series.filter((series) => !series.changes && groupOf(series) !== 'Recorder' && series.kind !== 'bin');
  const value = (series) => series.kind === 'gauge' ? series.mean : series.v.find((one) => one !== null);
  const zero = still.filter((series) => value(series) === 0), silent = still.filter((series) => value(series) === undefined || value(series) === null);
  const rest = still.filter((series) => !zero.includes(series) && !silent.includes(series));
  const line = (text) => element('p', { class: 'dim constant' }, parent, text);
  if (rest.length) line('Constant: ' + rest.map((one) => one.name + ' ' + quantity(value(one), unitOf(one))).join(', ') + '.');
  if (zero.length) line('Nothing counted, or 0 throughout: ' + zero.map((one) => one.name).join(', ') + '.');
  if (silent.length) line('Without a value: ' + silent.map((one) => one.name).join(', ') + '.');
}

function setUpTimes() {
  // report.html#from=2.5&to=4&series=TASK-CLOCK,mpi:::bytes opens at that stretch with these series.
  const asked = new URLSearchParams(location.hash.slice(1));
  findMaps();
  shownLines = new Set(usualSeries());
  if (asked.has('series')) {
    const words = asked.get('series').split(',');
    shownLines = new Set(data.series.map((one, index) => index).filter((index) =>
      words.some((word) => data.series[index].name === word || data.series[index].name.endsWith(':' + word))));
  }
  const usualMap = maps.find((one) => one.key === 'rows:mpi:::rank:bytes') || maps.find((one) => shownLines.has(one.index));
  if (usualMap && !asked.has('series')) shownMaps.add(usualMap.key);
  maps.filter((one) => one.key.startsWith('bins:')).forEach((one) => shownMaps.add(one.key));
  const box = byId('times');
  element('h2', {}, box, 'Over time');
  const bar = element('div', { id: 'bar' }, box);
  button(bar, '+', 'zoom in (key +; Ctrl and wheel, or drag over a stretch)', () => zoom(0.5));
  button(bar, '−', 'zoom out (key −)', () => zoom(2));
  button(bar, '◀', 'earlier (key ←; Shift and wheel)', () => move(-1 / 3));
  button(bar, '▶', 'later (key →)', () => move(1 / 3));
  button(bar, 'All', 'the whole recording (key 0, or double click)', () => show(whole[0], whole[1]));
  button(bar, 'SVG', 'save this view as SVG', () =>
    save(URL.createObjectURL(new Blob([pictureSvg()], { type: 'image/svg+xml' })), 'record.svg'));
  button(bar, 'PNG', 'save this view as PNG', () =>
    save(timeChart.getDataURL({ pixelRatio: 2, backgroundColor: colour('paper') }), 'record.png'));
  element('span', { id: 'window', class: 'dim' }, bar);
  chooser(box);
  element('p', { id: 'nothing', hidden: '' }, box, data.series.length ? 'No series is chosen.' : 'The recording has no series.');
  element('div', { id: 'lines', tabindex: '0', role: 'img', 'aria-label': 'Time lines; + and − zoom, the arrow keys move' }, box);
  if (data.passes > data.regions.length)
    element('p', { class: 'dim' }, box, 'Of ' + data.passes + ' passes of regions the longest ' + data.regions.length + ' are drawn.');
  constants(box);
  drawTimes();
  if (asked.has('from') || asked.has('to'))
    show(Number(asked.get('from') || 0), Number(asked.get('to') || whole[1]));
}
