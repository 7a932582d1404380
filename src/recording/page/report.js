// Draws a record: time lines on one axis with regions, zoom, values under the pointer; signatures, heat maps.
'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const SVG = 'http://www.w3.org/2000/svg';
  const PALETTE = ['#3b76af', '#c8772e', '#4f9352', '#b3434a', '#7d62a6', '#8a6d5c', '#c46ba8', '#7f868d', '#9a9a3c',
    '#3f9fb0'];
  const LEFT = 190, RIGHT = 14, TOP = 26, PANEL = 78, GAP = 8;
  const byId = (id) => document.getElementById(id);

  function element(name, attributes, parent, text) {
    const made = name.startsWith('html:') ? document.createElement(name.slice(5)) : document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  // 1.234 G, 12.3 k, 87, 0.0123
  function short(number) {
    if (number === null || number === undefined || !isFinite(number)) return '-';
    const letters = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
    let scaled = number, step = 0;
    while (step < 6 && Math.abs(scaled) >= 9999.5) { scaled /= 1000; ++step; }
    if (step === 0 && Number.isInteger(number)) return String(number);
    if (step === 0 && Math.abs(number) < 0.001 && number !== 0) return number.toExponential(2);
    return String(+scaled.toPrecision(4)) + (step ? ' ' + letters[step] : '');
  }
  function unitOf(series) {
    const unit = series.unit || (series.kind === 'gauge' ? '' : '1');
    return series.kind === 'gauge' ? unit : { s: 'CPUs', J: 'W' }[unit] || unit + '/s';
  }
  // Steps of 1, 2 or 5 times a power of ten.
  function niceStep(span, most) {
    const raw = span / Math.max(1, most), power = Math.pow(10, Math.floor(Math.log10(raw)));
    for (const factor of [1, 2, 5, 10]) if (factor * power >= raw) return factor * power;
    return 10 * power;
  }
  const regionColours = new Map();
  function colourOf(name) {
    if (!regionColours.has(name)) regionColours.set(name, PALETTE[regionColours.size % PALETTE.length]);
    return regionColours.get(name);
  }
  data.regions.forEach((region) => colourOf(region.name));

  const whole = [0, data.seconds > 0 ? data.seconds : 1];
  let view = whole.slice();
  // report.html#from=2.5&to=4&series=TASK-CLOCK,mpi:::bytes opens at that stretch with these series.
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.has('from') && asked.has('to')) {
    const from = Math.max(0, Number(asked.get('from'))), to = Math.min(whole[1], Number(asked.get('to')));
    if (to > from) view = [from, to];
  }
  let width = 1000;
  let drag = null;
  const shown = new Set(data.series.map((series, index) => index)
    .filter((index) => data.series[index].scope !== 'recorder' && data.series[index].changes));
  if (shown.size === 0) data.series.forEach((series, index) => shown.add(index));
  if (asked.has('series')) {
    const words = asked.get('series').split(',');
    shown.clear();
    data.series.forEach((series, index) => {
      if (words.some((word) => series.name === word || series.name.endsWith(':' + word))) shown.add(index);
    });
  }
  const xOf = (seconds) => LEFT + (seconds - view[0]) / (view[1] - view[0]) * (width - LEFT - RIGHT);
  const secondsAt = (x) => view[0] + (x - LEFT) / (width - LEFT - RIGHT) * (view[1] - view[0]);

  // First index whose time is not before `seconds`.
  function lowerBound(times, seconds) {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < seconds) low = middle + 1; else high = middle;
    }
    return low;
  }
  function valueAt(series, seconds) {
    const i = lowerBound(series.t, seconds);
    if (series.t.length === 0 || (i === 0 && seconds < series.t[0] - 1e-9)) return null;
    if (i === 0) return series.v[0];
    if (i === series.t.length) return null;
    if (series.kind !== 'gauge') return series.v[i];
    const share = (seconds - series.t[i - 1]) / (series.t[i] - series.t[i - 1] || 1);
    return series.v[i - 1] + share * (series.v[i] - series.v[i - 1]);
  }

  // Regions of one name and place in rows, so that nested ones do not cover each other.
  const regionRows = data.regions.reduce((most, region) => Math.max(most, Math.min(region.depth, 3) + 1), 0);

  function draw() {
    const box = byId('lines');
    width = Math.max(480, box.clientWidth || 1000);
    const chosen = data.series.filter((series, index) => shown.has(index));
    const bandsHeight = regionRows * 16;
    const height = TOP + bandsHeight + chosen.length * (PANEL + GAP) + 24;
    box.textContent = '';
    const svg = element('svg', { xmlns: SVG, viewBox: '0 0 ' + width + ' ' + height, height: height, role: 'img',
      'font-family': 'system-ui, sans-serif', 'font-size': 11, 'data-from': view[0], 'data-to': view[1] }, box);
    element('title', {}, svg, 'Time lines of ' + data.title);
    const clip = element('clipPath', { id: 'plot' }, element('defs', {}, svg));
    element('rect', { x: LEFT, y: 0, width: width - LEFT - RIGHT, height: height }, clip);

    // Regions: bands on top, shades below.
    const bands = element('g', { 'clip-path': 'url(#plot)' }, svg);
    for (const region of data.regions) {
      if (region.end < view[0] || region.begin > view[1]) continue;
      const x = xOf(region.begin), w = Math.max(1, xOf(region.end) - x), row = Math.min(region.depth, 3);
      const group = element('g', { class: 'region' }, bands);
      element('title', {}, group, region.name + ': ' + region.begin.toFixed(4) + ' s to ' +
        region.end.toFixed(4) + ' s' + (region.open ? ' (its end is not in the recording)' : ''));
      element('rect', { x: x, y: TOP + row * 16, width: w, height: 14, fill: colourOf(region.name),
        'fill-opacity': 0.85 }, group);
      if (region.depth === 0)
        element('rect', { x: x, y: TOP + bandsHeight, width: w, height: height - TOP - bandsHeight - 24,
          fill: colourOf(region.name), 'fill-opacity': 0.1 }, group);
      const visible = Math.min(x + w, width - RIGHT) - Math.max(x, LEFT);
      if (visible > region.name.length * 6.2 + 4)
        element('text', { x: Math.max(x, LEFT) + 3, y: TOP + row * 16 + 11, fill: '#ffffff' }, group, region.name);
    }
    if (regionRows) element('text', { x: 4, y: TOP + 11, fill: 'currentColor' }, svg, 'regions');

    // The time axis, above and below.
    const step = niceStep(view[1] - view[0], (width - LEFT - RIGHT) / 90);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    for (let k = Math.ceil(view[0] / step - 1e-9); k * step <= view[1] + step * 1e-9; ++k) {
      const x = xOf(k * step);
      element('line', { x1: x, x2: x, y1: TOP - 4, y2: height - 20, stroke: 'currentColor',
        'stroke-opacity': 0.13 }, svg);
      const label = (k * step).toFixed(digits) + ' s';
      element('text', { x: x, y: 14, 'text-anchor': 'middle', fill: 'currentColor' }, svg, label);
      element('text', { x: x, y: height - 6, 'text-anchor': 'middle', fill: 'currentColor' }, svg, label);
    }

    chosen.forEach((series, position) => drawSeries(svg, series, TOP + bandsHeight + position * (PANEL + GAP) + 4));

    for (const moment of data.moments) {
      if (moment.at < view[0] || moment.at > view[1]) continue;
      const mark = element('line', { x1: xOf(moment.at), x2: xOf(moment.at), y1: TOP, y2: height - 24,
        stroke: '#b3434a', 'stroke-dasharray': '3 3' }, svg);
      element('title', {}, mark, moment.name);
    }
    const cursor = element('line', { id: 'cursor', y1: TOP, y2: height - 24, stroke: 'currentColor',
      'stroke-opacity': 0.5, visibility: 'hidden' }, svg);
    const choice = element('rect', { id: 'choice', y: TOP, height: height - TOP - 24, fill: '#3b76af',
      'fill-opacity': 0.2, visibility: 'hidden' }, svg);
    listen(svg, cursor, choice);
    byId('window').textContent = view[0].toFixed(3) + ' s to ' + view[1].toFixed(3) + ' s';
  }

  function drawSeries(svg, series, top) {
    const colour = series.modelled ? '#c8772e' : '#3b76af';
    const group = element('g', { class: 'series', 'data-name': series.name }, svg);
    const from = Math.max(0, lowerBound(series.t, view[0]) - 1);
    const to = Math.min(series.t.length, lowerBound(series.t, view[1]) + 1);
    let low = Infinity, high = -Infinity;
    for (let i = from; i < to; ++i) {
      const under = series.lo ? series.lo[i] : series.v[i], over = series.hi ? series.hi[i] : series.v[i];
      if (under !== null && under < low) low = under;
      if (over !== null && over > high) high = over;
    }
    if (!(low <= high)) { low = 0; high = 1; }
    if (series.kind !== 'gauge') { low = Math.min(low, 0); high = Math.max(high, 0); }
    if (high === low) {
      high += Math.abs(high) * 0.05 + 0.5;
      low -= Math.abs(low) * 0.05 + (series.kind === 'gauge' ? 0.5 : 0);
    }
    const yOf = (value) => top + PANEL - (value - low) / (high - low) * PANEL;
    element('rect', { x: LEFT, y: top, width: width - LEFT - RIGHT, height: PANEL, fill: 'currentColor',
      'fill-opacity': 0.03 }, group);
    const step = niceStep(high - low, 3);
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) {
      const y = yOf(k * step);
      element('line', { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, stroke: 'currentColor',
        'stroke-opacity': 0.1 }, group);
      element('text', { x: LEFT - 5, y: y + 4, 'text-anchor': 'end', fill: 'currentColor',
        'fill-opacity': 0.75 }, group, short(+(k * step).toPrecision(12)));
    }
    // Long names are cut in the middle: both ends matter.
    const fits = 24;
    const name = series.name.length <= fits ? series.name : series.name.slice(0, 9) + '…' + series.name.slice(-14);
    const title = element('text', { x: 4, y: top + 13, fill: 'currentColor', 'font-weight': 600 }, group, name);
    element('title', {}, title, series.name + ': ' + series.text);
    element('text', { x: 4, y: top + 28, fill: 'currentColor' }, group, unitOf(series));
    element('text', { x: 4, y: top + 43, fill: series.modelled ? colour : 'currentColor',
      'fill-opacity': series.modelled ? 1 : 0.7 },
      group, series.origin);
    element('text', { x: 4, y: top + 58, fill: 'currentColor', 'fill-opacity': 0.7 }, group,
      series.writers > 1 ? series.writers + (series.scope === 'rank' ? ' ranks' : ' writers') : series.scope);
    const plot = element('g', { 'clip-path': 'url(#plot)' }, group);
    // Rates hold over their interval and are drawn as steps; levels as lines; the range of several writers as an area.
    let path = '', area = '', back = '', pen = false, last = null;
    for (let i = from; i < to; ++i) {
      const value = series.v[i];
      if (value === null) { pen = false; last = null; continue; }
      const x = xOf(series.t[i]), y = yOf(value);
      if (series.kind !== 'gauge' && last !== null) path += 'V' + y.toFixed(1) + 'H' + x.toFixed(1);
      else path += (pen ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1);
      pen = true;
      last = y;
      if (series.lo && series.lo[i] !== null) {
        area += (area ? 'L' : 'M') + x.toFixed(1) + ' ' + yOf(series.hi[i]).toFixed(1);
        back = 'L' + x.toFixed(1) + ' ' + yOf(series.lo[i]).toFixed(1) + back;
      }
    }
    if (area) element('path', { d: area + back + 'Z', fill: colour, 'fill-opacity': 0.2 }, plot);
    element('path', { d: path, fill: 'none', stroke: colour, 'stroke-width': 1.4,
      'stroke-dasharray': series.modelled ? '5 2' : 'none' }, plot);
  }

  function show(from, to) {
    const least = Math.max((whole[1] - whole[0]) * 1e-6, 1e-6);
    let span = Math.min(Math.max(to - from, least), whole[1] - whole[0]);
    const start = Math.min(Math.max(from, whole[0]), whole[1] - span);
    view = [start, start + span];
    draw();
  }
  function zoom(factor, at) {
    const centre = at === undefined ? (view[0] + view[1]) / 2 : at;
    show(centre - (centre - view[0]) * factor, centre + (view[1] - centre) * factor);
  }

  function listen(svg, cursor, choice) {
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) * (width / (box.width || width));
      return Math.min(Math.max(x, LEFT), width - RIGHT);
    };
    svg.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.shiftKey && !event.altKey) return;
      event.preventDefault();
      if (event.shiftKey) {
        const shift = (event.deltaY || event.deltaX) / 500 * (view[1] - view[0]);
        show(view[0] + shift, view[1] + shift);
      } else {
        zoom(Math.exp(event.deltaY / 400), secondsAt(place(event)));
      }
    }, { passive: false });
    svg.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      drag = { x: place(event), moved: false };
    });
    svg.addEventListener('pointermove', (event) => {
      const x = place(event);
      cursor.setAttribute('x1', x);
      cursor.setAttribute('x2', x);
      cursor.setAttribute('visibility', 'visible');
      if (drag && Math.abs(x - drag.x) > 3) {
        drag.moved = true;
        choice.setAttribute('x', Math.min(x, drag.x));
        choice.setAttribute('width', Math.abs(x - drag.x));
        choice.setAttribute('visibility', 'visible');
      }
      showValues(event, secondsAt(x));
    });
    svg.addEventListener('pointerup', (event) => {
      const begun = drag;
      drag = null;
      if (!begun || !begun.moved) return;
      const ends = [secondsAt(begun.x), secondsAt(place(event))].sort((a, b) => a - b);
      show(ends[0], ends[1]);
    });
    svg.addEventListener('pointerleave', () => {
      cursor.setAttribute('visibility', 'hidden');
      byId('tip').hidden = true;
    });
    svg.addEventListener('dblclick', () => show(whole[0], whole[1]));
  }

  // The values of all shown series at a time.
  function showValues(event, seconds) {
    const tip = byId('tip');
    tip.textContent = '';
    element('html:b', {}, tip, seconds.toFixed(4) + ' s');
    const inside = data.regions.filter((region) => region.begin <= seconds && seconds <= region.end)
      .map((region) => region.name);
    if (inside.length) element('html:div', {}, tip, 'in ' + Array.from(new Set(inside)).slice(0, 6).join(', '));
    data.series.forEach((series, index) => {
      if (!shown.has(index)) return;
      const line = element('html:div', {}, tip,
        series.name + ': ' + short(valueAt(series, seconds)) + ' ' + unitOf(series));
      if (series.modelled) element('html:span', { class: 'modelled' }, line, ' modelled');
    });
    tip.hidden = false;
    tip.style.left = Math.min(event.clientX + 16, window.innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8) + 'px';
  }

  // From white (or black) to the colour.
  function shade(share) {
    const s = Math.min(1, Math.max(0, share));
    return 'rgba(59,118,175,' + (0.04 + 0.96 * s).toFixed(3) + ')';
  }

  // Rows and columns of numbers as coloured cells; null is left empty.
  function heatMap(parent, caption, rows, columns, values, options) {
    const figure = element('html:figure', { class: 'heat' }, parent);
    element('html:figcaption', {}, figure, caption);
    const names = Math.min(220, 12 + 6.5 * rows.reduce((most, row) => Math.max(most, row.length), 0));
    const cell = Math.max(options.cell || 26, 3), tall = options.tall || 20, head = options.slant ? 110 : 18;
    const w = names + columns.length * cell + (options.slant ? 130 : 10), h = head + rows.length * tall + 4;
    const svg = element('svg', { xmlns: SVG, viewBox: '0 0 ' + w + ' ' + h, width: w, height: h,
      'font-family': 'system-ui, sans-serif', 'font-size': 11 }, figure);
    columns.forEach((name, c) => {
      const x = names + (c + 0.5) * cell;
      if (options.slant)
        element('text', { x: x, y: head - 5, fill: 'currentColor',
          transform: 'rotate(-50 ' + x + ' ' + (head - 5) + ')' }, svg,
          name.length > 24 ? name.slice(0, 9) + '…' + name.slice(-14) : name);
      else if (c % Math.ceil(46 / cell) === 0)
        element('text', { x: x, y: head - 5, fill: 'currentColor', 'text-anchor': 'middle' }, svg, name);
    });
    rows.forEach((name, r) => {
      const label = element('text', { x: names - 5, y: head + r * tall + tall * 0.7, fill: 'currentColor',
        'text-anchor': 'end' }, svg,
        name.length > 32 ? name.slice(0, 14) + '…' + name.slice(-17) : name);
      element('title', {}, label, name);
      columns.forEach((column, c) => {
        const value = values[r][c];
        if (value === null || value === undefined) return;
        const rect = element('rect', { x: names + c * cell, y: head + r * tall,
          width: cell > 6 ? cell - 1 : cell, height: tall - 1,
          fill: options.colour ? options.colour(value, r, c) : shade(value) }, svg);
        element('title', {}, rect,
          name + ', ' + column + ': ' + (options.text ? options.text(value, r, c) : short(value)));
      });
    });
    return figure;
  }

  // What each region is like: every series by the region in which it is largest.
  function signatures() {
    const box = byId('signatures');
    const used = data.region_totals.series.map((index) => data.series[index]);
    if (!data.region_totals.rows.length || !used.length) return;
    const cellOf = (row, c) =>
      row.cells[c] === null ? null : (used[c].kind === 'gauge' ? row.cells[c].rise : row.cells[c].rate);
    const values = data.region_totals.rows.map((row) => used.map((series, c) => cellOf(row, c)));
    const largest = used.map((series, c) => Math.max(0, ...values.map((row) => Math.abs(row[c] || 0))));
    heatMap(box, 'Signatures of the regions: each column is scaled to its largest region; counts by their rate, ' +
      'gauges by their rise per second (falling: orange)',
      data.region_totals.rows.map((row) => row.name),
      used.map((series) => series.name + (series.modelled ? ' (modelled)' : '')), values, {
        slant: true,
        colour: (value, r, c) => {
          const share = largest[c] > 0 ? value / largest[c] : 0;
          return share < 0 ? 'rgba(200,119,46,' + (0.04 - 0.96 * share).toFixed(3) + ')' : shade(share);
        },
        text: (value, r, c) => short(value) + ' ' + (used[c].kind === 'gauge' ? used[c].unit + '/s' : unitOf(used[c])),
      });
  }

  function correlations() {
    const { series, r } = data.correlation;
    if (series.length < 2) return;
    const names = series.map((index) => data.series[index].name + (data.series[index].modelled ? ' (modelled)' : ''));
    heatMap(byId('correlations'), 'Correlation without lag (blue: together, orange: against each other); ' +
      '`substrata correlate` finds lag, gain and significance',
      names, names, r, {
        slant: true,
        colour: (value) => value >= 0 ? shade(value) : 'rgba(200,119,46,' + (0.04 - 0.96 * value).toFixed(3) + ')',
        text: (value) => value.toFixed(2),
      });
  }

  // Writers over time, where a series has several.
  function writers() {
    for (const series of data.series) {
      if (!series.rows) continue;
      let high = 0, low = Infinity;
      for (const value of series.rows.values.flat()) {
        if (value === null) continue;
        high = Math.max(high, value);
        low = Math.min(low, value);
      }
      const base = series.kind === 'gauge' ? low : Math.min(0, low);
      const columns = series.rows.values[0].map((value, i, all) => (data.seconds * i / all.length).toFixed(1) + ' s');
      heatMap(byId('writers'), series.name + (series.modelled ? ' (modelled)' : '') +
        (series.scope === 'rank' ? ' by rank over time, ' : ' by writer over time, ') + short(base) + ' to ' +
        short(high) + ' ' + unitOf(series),
        series.rows.names, columns, series.rows.values, { cell: 6, tall: 14,
          colour: (value) => shade(high > base ? (value - base) / (high - base) : 0),
          text: (value) => short(value) + ' ' + unitOf(series) });
    }
  }

  // Message sizes by phase and bytes by sender and receiver, from the summary of the MPI shim.
  function messages() {
    for (const attachment of data.attachments) {
      if (attachment.name !== 'mpi-summary') continue;
      let summary = null;
      try { summary = JSON.parse(attachment.content); } catch (error) { continue; }
      const phases = new Map(), powers = new Set();
      for (const rank of summary.ranks || [])
        for (const phase of rank.phases || []) {
          if (!phases.has(phase.name)) phases.set(phase.name, new Map());
          for (const size in phase.sizes_sent || {}) {
            const power = Number(size) === 0 ? -1 : Math.floor(Math.log2(Number(size)));
            powers.add(power);
            const bins = phases.get(phase.name);
            bins.set(power, (bins.get(power) || 0) + phase.sizes_sent[size]);
          }
        }
      const columns = Array.from(powers).sort((a, b) => a - b), rows = Array.from(phases.keys());
      if (!rows.length || !columns.length) continue;
      const values = rows.map((name) => columns.map((power) =>
        phases.get(name).has(power) ? phases.get(name).get(power) : null));
      const most = Math.max(1, ...values.map((row) => Math.max(...row.map((value) => value || 0))));
      heatMap(byId('messages'), 'Messages by phase and size (bytes, by powers of two; colour by logarithm)', rows,
        columns.map((power) => power < 0 ? '0' : power < 10 ? String(2 ** power) :
          power < 20 ? 2 ** (power - 10) + 'k' : 2 ** (power - 20) + 'M'),
        values, { cell: 34, colour: (value) => shade(Math.log1p(value) / Math.log1p(most)),
          text: (value) => short(value) + ' messages' });
    }
  }

  // The picture as it stands, for a paper.
  function picture() {
    const copy = byId('lines').querySelector('svg').cloneNode(true);
    copy.removeAttribute('style');
    copy.setAttribute('width', width);
    copy.setAttribute('color', '#1b1f24');
    for (const id of ['cursor', 'choice']) {
      const extra = copy.querySelector('#' + id);
      if (extra) extra.remove();
    }
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(copy);
  }
  function save(blob, name) {
    const link = element('html:a', { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  function savePng() {
    const image = new Image();
    image.onload = () => {
      const canvas = element('html:canvas', { width: 2 * image.width, height: 2 * image.height });
      const pen = canvas.getContext('2d');
      pen.fillStyle = '#ffffff';
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, 'record.png'), 'image/png');
    };
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(picture());
  }

  function controls() {
    const bar = byId('bar');
    const button = (text, title, action) =>
      element('html:button', { type: 'button', title: title }, bar, text).addEventListener('click', action);
    button('+', 'zoom in (Ctrl and wheel, or drag over a stretch)', () => zoom(0.5));
    button('−', 'zoom out', () => zoom(2));
    button('◀', 'earlier (Shift and wheel)',
      () => show(view[0] - (view[1] - view[0]) / 3, view[1] - (view[1] - view[0]) / 3));
    button('▶', 'later', () => show(view[0] + (view[1] - view[0]) / 3, view[1] + (view[1] - view[0]) / 3));
    button('All', 'the whole record (double click)', () => show(whole[0], whole[1]));
    button('SVG', 'save this view as SVG', () => save(new Blob([picture()], { type: 'image/svg+xml' }), 'record.svg'));
    button('PNG', 'save this view as PNG', savePng);
    element('html:span', { id: 'window', class: 'dim' }, bar);
    data.series.forEach((series, index) => {
      const label = element('html:label', {}, byId('choose'));
      const box = element('html:input', { type: 'checkbox' }, label);
      box.checked = shown.has(index);
      box.addEventListener('change', () => {
        if (box.checked) shown.add(index); else shown.delete(index);
        draw();
      });
      label.append(' ' + series.name);
      if (series.modelled) element('html:span', { class: 'modelled' }, label, ' modelled');
    });
  }

  controls();
  draw();
  signatures();
  correlations();
  writers();
  messages();
  let again = 0;
  window.addEventListener('resize', () => {
    clearTimeout(again);
    again = setTimeout(draw, 100);
  });
}());
