// Runs before and after a change: what came and went, the numbers of the head, tables of the whole run and of the
// regions.
function sideText(one, side) {
  if (!side.runs) return '–';
  if (side.least === side.most) return quantity(side.value, one.unit);
  return (side.text.startsWith('~') ? '~' + quantity(side.value, one.unit)
    : side.least === 0 ? '<= ' + quantity(side.most, one.unit)
      : quantity(side.least, one.unit) + ' to ' + quantity(side.most, one.unit));
}
function differenceText(one) {
  if (one.change.startsWith('only')) return one.change;
  if (one.ratio === null) return one.change || 'no change';
  const share = 100 * (one.ratio - 1);
  return (share > 0 ? '+' : share < 0 ? '−' : '') + (+Math.abs(share).toPrecision(3)) + ' %';
}
// Half, the same and twice as much lie at a quarter, the half and three quarters of the bar.
function ratioBar(one) {
  const bar = element('span', { class: 'ratio', 'aria-hidden': 'true' });
  if (one.ratio === null || !(one.ratio > 0)) return bar;
  const at = 50 + 25 * Math.max(-2, Math.min(2, Math.log2(one.ratio)));
  const mark = element('i', { class: one.change === 'more' ? 'more' : one.change === 'less' ? 'less' : 'none' }, bar);
  mark.style.left = Math.min(50, at) + '%';
  mark.style.width = Math.max(1, Math.abs(at - 50)) + '%';
  return bar;
}
function changeText(one) {
  const words = { more: 'more', less: 'less', '': 'no change' };
  return element('span', { class: one.change ? 'change changed' : 'change dim' }, null, words[one.change] || one.change);
}
function comparedRow(one, name) {
  const first = element('span', { class: 'name' });
  first.append(name);
  if (one.kind === 'mean') element('span', { class: 'dim' }, first, ' mean');
  if (one.modelled) { first.append(' '); badge(first, one); }
  return [first, sideText(one, one.before), sideText(one, one.after), one.ratio === null ? '–' : one.ratio.toFixed(3), changeText(one),
    one.noise === null ? '–' : '± ' + +(100 * one.noise).toPrecision(2) + ' %', ratioBar(one)];
}
const COMPARED = [['Old', true], ['New', true], ['New by old', true], ['Change'], ['Noise', true], ['Half, same, twice']];

function drawComparedFindings(box) {
  element('h2', {}, box, 'Findings');
  if (!data.findings.length) element('p', {}, box, 'No rule found anything wrong, before or after.');
  for (const one of data.findings) {
    const item = element('article', { class: one.after.found ? 'finding' : 'finding gone', 'data-state': one.state }, box);
    element('strong', {}, item, one.state + ': ' + (one.after.text || one.before.text));
    for (const [name, side] of [['Before', one.before], ['After', one.after]])
      element('p', {}, item, name + ': ' + side.how + (side.found ? ': ' + side.evidence : '') + '.');
  }
}

function drawComparison() {
  const about = byId('about');
  about.textContent = 'old: ' + data.before.join(', ') + ' · new: ' + data.after.join(', ');
  byId('head').querySelector('h1').textContent = 'Before and after';
  const box = byId('overview'), tiles = element('div', { class: 'tiles' }, box);
  for (const one of data.numbers.filter((each) => each.head)) {
    const place = element('div', { class: 'tile', 'data-name': one.name }, tiles);
    element('span', { class: 'dim' }, place, one.name);
    element('strong', {}, place, sideText(one, one.after));
    element('span', { class: 'dim note' }, place, 'was ' + sideText(one, one.before) + ', ' + differenceText(one) +
      (one.change ? '' : ': no change'));
    if (one.modelled) badge(place, one);
  }
  for (const note of data.notes) element('p', { class: 'note' }, box, 'Note: ' + note);
  drawComparedFindings(byId('findings'));

  const whole = byId('times');
  element('h2', {}, whole, 'Whole run');
  tableOf(whole, 'compared-whole', [['Of all'], ...COMPARED], data.numbers.filter((one) => !one.region)
    .map((one) => comparedRow(one, one.name)));

  const regions = byId('regions');
  element('h2', {}, regions, 'Regions');
  const within = data.numbers.filter((one) => one.region);
  if (!within.length) {
    element('p', { class: 'dim empty' }, regions, 'The programs marked no regions.');
  } else {
    const place = element('div', {}, regions);
    let all = false;
    const draw = () => {
      place.textContent = '';
      tableOf(place, 'compared-regions', [['Region'], ['Of'], ...COMPARED], within.filter((one) => all || one.change || one.name === 'time')
        .map((one) => [one.name === 'time' ? element('strong', {}, null, one.region) : one.region, ...comparedRow(one, one.name)]));
    };
    draw();
    const toggle = button(regions, 'All numbers', 'also those that did not change', () => {
      all = !all;
      toggle.textContent = all ? 'Changes only' : 'All numbers';
      draw();
    });
  }
  element('p', { class: 'dim' }, byId('provenance'), 'Noise: of means of equal programs 99 of 100 differences are smaller, by the spread ' +
    'over the runs; – where one run each says nothing of it. Change: a difference beyond that, and beyond ' +
    (+(100 * data.least_share).toPrecision(3)) + ' %. ~ and bounds: a region begins and ends between samples; what overlaps has not changed.');
}
