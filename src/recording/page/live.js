// The page of `substrata serve`: asks for the newest values and draws what it has seen since it was opened.
const KEPT = 600;  // points of a series
const asks = { last: null, answers: 0, drawn: false };

// The values of one answer as new points.
function takeLive(answer) {
  const before = asks.last, span = before ? answer.seconds - before.seconds : 0;
  const known = new Map(data.series.map((one) => [one.name + '\n' + one.scope, one]));
  let fresh = false;
  for (const one of answer.series) {
    const key = one.name + '\n' + one.scope;
    let series = known.get(key);
    if (!series) {
      series = { ...one, writers: 1, changes: true, t: [], v: [] };
      data.series.push(series);
      known.set(key, series);
      fresh = true;
    }
    if (before && !(span > 0)) continue;
    const value = one.value;
    let point = value;
    if (series.kind !== 'gauge') {
      const counted = value !== null && series.last !== null && series.last !== undefined;
      // Nothing runs on 0 W: that counter of energy stands still. When it moves again, it is for all that time.
      series.still = counted && series.unit === 'J' && value === series.last;
      const since = answer.seconds - (counted ? series.moved : 0);
      point = counted && !series.still && since > 0 ? (value - series.last) / since : null;
      series.last = value;
      if (!series.still) series.moved = answer.seconds;
    }
    series.total = value;
    series.t.push(answer.seconds - asks.begin);
    series.v.push(point);
    if (series.t.length > KEPT) { series.t.shift(); series.v.shift(); }
  }
  asks.last = answer;
  return fresh;
}

function drawLive() {
  const times = data.series.map((one) => one.t).filter((one) => one.length);
  const first = Math.min(...times.map((one) => one[0])), last = Math.max(...times.map((one) => one[one.length - 1]));
  const followed = view[1] >= whole[1] - 1e-9;
  const span = view[1] - view[0], all = view[0] <= whole[0] + 1e-9;
  whole[0] = Math.max(0, first);
  whole[1] = Math.max(whole[0] + 1, last);
  if (followed) view = [all ? whole[0] : Math.max(whole[0], whole[1] - span), whole[1]];
  const tiles = byId('tiles');
  tiles.textContent = '';
  for (const index of hasCharts ? shownLines : data.series.map((one, i) => i)) {
    const series = data.series[index];
    tile(tiles, { name: labelOf(series), value: series.v[series.v.length - 1], unit: unitOf(series), note: series.still ? 'its counter stands still' : series.scope, modelled: series.modelled, origin: series.origin });
  }
}

// What is left where nothing new comes: last levels, and counts in all.
function drawTotals() {
  const tiles = byId('tiles');
  tiles.textContent = '';
  tableOf(tiles, 'totals', [['Event'], ['Value', true], [''], ['Of'], ['Origin']],
    data.series.filter((one) => one.kind !== 'bin' && groupOf(one) !== 'Recorder').map((one) =>
      [one.name, quantity(one.total, one.unit), one.kind === 'gauge' ? 'at last' : 'in all', one.scope, one.origin]));
}

function say(words, kind) {
  byId('state').textContent = words;
  byId('state').className = kind;
}

async function askLive() {
  try {
    const reply = await fetch('live.json', { cache: 'no-store' });
    if (!reply.ok) throw new Error(await reply.text());
    const answer = await reply.json();
    if (asks.begin === undefined) asks.begin = answer.seconds;
    const same = asks.last && !(answer.seconds > asks.last.seconds);
    const fresh = takeLive(answer);
    // Counts become rates with the second answer; axes before that would be empty.
    asks.answers += 1;
    asks.drawn = asks.drawn || (asks.answers > 1 && !answer.ended && data.series.some((one) => one.v.some((value) => value !== null)));
    say(answer.ended ? 'It has ended: no newer values come. `substrata report --html` shows how a recording went.' : asks.drawn ? ''
      : same ? 'Waiting for newer values.' : 'Waiting for the first values.', 'dim');
    if (asks.drawn) {
      if (hasCharts && !byId('lines')) {
        setUpTimes();
      } else if (hasCharts && fresh) {
        shownLines = new Set(usualSeries());
      }
      drawLive();
      if (hasCharts) drawTimes();
    }
    if (answer.ended || (same && !asks.drawn)) drawTotals();
  } catch (error) {
    say('No newer values: ' + error.message, 'warn');
  }
  setTimeout(askLive, data.interval_ms);
}

function startLive() {
  const head = byId('head');
  const line = element('p', { class: 'dim' }, head, 'Newest values, every ' + quantity(data.interval_ms / 1000, 's') + '; for other programs at ');
  element('a', { href: 'metrics' }, line, 'metrics');
  element('p', { class: 'dim', id: 'state', role: 'status' }, head, 'Waiting for the first values.');
  element('div', { class: 'tiles', id: 'tiles' }, byId('overview'));
  data.series = [];
  data.regions = [];
  data.moments = [];
  data.passes = 0;
  askLive();
}
