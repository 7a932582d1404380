// The head of the page: what it is of, its numbers, the regions that took longest, the findings.
function drawHead() {
  const head = byId('head');
  const line = element('div', { class: 'line' }, head);
  element('h1', {}, line, data.title);
  const theme = button(line, '', 'light or dark (key: d)', switchTheme);
  theme.id = 'theme';
  const parts = [data.when, (data.host || '') + (data.hosts > 1 ? ' and ' + (data.hosts - 1) + ' more machines' : ''), data.exit];
  element('p', { class: 'dim', id: 'about' }, head, parts.filter((part) => part).join(' · '));
  for (const problem of data.problems || []) element('p', { class: 'warn' }, head, problem);
  if (!hasCharts && !data.comparison)
    element('p', { class: 'warn', id: 'without' }, head, 'This program was built without the library of the charts ' +
      '(npm or a network was missing), so the page has tables only.');
}

function tile(parent, one) {
  const box = element('div', { class: 'tile', 'data-name': one.name }, parent);
  element('span', { class: 'dim' }, box, one.name);
  element('strong', {}, box, quantity(one.value, one.unit));
  const note = element('span', { class: 'dim note' }, box,
    one.also === null || one.also === undefined ? one.note || '' : quantity(one.also, one.also_unit) + ' in all');
  if (one.origin !== 'measured') badge(box, one);
  else note.title = 'measured';
  return box;
}

function drawOverview() {
  const box = byId('overview');
  const tiles = element('div', { class: 'tiles' }, box);
  for (const one of data.overview) tile(tiles, one);
  const has = (origin) => data.overview.some((one) => one.origin === origin);
  element('p', { class: 'dim' }, box, (has('modelled') || has('recorded machine') ? 'Measured, but for what is marked.'
    : 'All of these are measured.') + (has('modelled') ? ' Modelled: it comes from a model.' : '') + (has('recorded machine')
    ? ' Recorded machine: it stands in the files of a machine that was recorded earlier, or plays one.' : ''));
  const rows = data.region_totals.rows.slice().sort((a, b) => b.seconds - a.seconds).slice(0, 5);
  if (rows.length) {
    element('h3', {}, box, 'Regions that took longest');
    const list = element('ol', { class: 'longest' }, box);
    for (const row of rows) {
      const item = element('li', {}, list);
      const share = data.seconds > 0 ? Math.min(1, row.seconds / data.seconds) : 0;
      const zoom = button(item, row.name, 'show its time', () => showRegion(row.name));
      zoom.className = 'plain';
      const bar = element('span', { class: 'share' }, item);
      element('i', { style: 'width:' + (100 * share).toFixed(1) + '%;background:' + regionColour(row.name) }, bar);
      element('span', { class: 'n' }, item, seconds(row.seconds) + ', ' + (100 * share).toFixed(1) + ' %');
    }
  }
  if (data.command) {
    const command = element('p', { class: 'command' }, box);
    element('span', { class: 'dim' }, command, 'Command ');
    element('code', {}, command, data.command);
  }
}

function drawFindings() {
  const box = byId('findings');
  element('h2', {}, box, 'Findings');
  for (const one of data.findings) {
    const item = element('article', { class: 'finding' }, box);
    element('strong', {}, item, one.text);
    element('p', {}, item, one.evidence + '.');
    element('p', {}, item, 'What to do: ' + one.cure + '.');
    if (one.limits) element('p', { class: 'dim' }, item, 'Limits: ' + one.limits + '.');
  }
  if (!data.findings.length) element('p', {}, box, 'No rule found anything wrong.');
  const rest = [];
  if (data.quiet.length) rest.push('Nothing found by: ' + data.quiet.join(', ') + '.');
  if (data.without.length) rest.push('Not looked at, for want of data: ' + data.without.join('; ') + '.');
  if (!rest.length) return;
  const more = element('details', {}, box);
  element('summary', { class: 'dim' }, more, 'What was looked for');
  for (const text of rest) element('p', { class: 'dim' }, more, text);
}
