// What lines of the Owl language counted while the command was recorded.
const MOST_QUERY_ROWS = 25;

function queryValue(value) {
  if (typeof value === 'number') return quantity(value, '');
  if (Array.isArray(value)) {  // a histogram by powers of two
    const most = Math.max(1, ...value.map((one) => one.count)), box = element('span', { class: 'powers' });
    for (const one of value) {
      const bar = element('i', { style: 'height:' + Math.max(1, Math.round(20 * one.count / most)) + 'px' }, box);
      bar.title = 'from ' + quantity(one.from, '') + ': ' + quantity(one.count, '');
    }
    box.setAttribute('aria-label', value.map((one) => one.from + ': ' + one.count).join(', '));
    return box;
  }
  return value && typeof value === 'object' ? ['p50', 'p90', 'p99'].map((part) => quantity(value[part], '')).join(' / ') : '–';
}

function queryTable(box, table) {
  const shares = table.all > 0, rows = table.rows.slice(0, MOST_QUERY_ROWS);
  const columns = table.values.map((name) => [name + (name.startsWith('quantiles(') ? ' p50 / p90 / p99' : ''), true]);
  if (shares) columns.push(['share']);
  tableOf(box, '', columns.concat(table.keys.map((name) => [name])), rows.map((row) => {
    const cells = row.values.map(queryValue);
    if (shares) {
      const part = row.values[0] / table.all;
      cells.push(shareOf(part, (100 * part).toFixed(1) + ' %'));
    }
    return cells.concat(row.keys.map((key) => element('code', {}, null, String(key))));
  }));
  const more = table.rows.length - rows.length + (table.left_out || 0);
  if (more > 0) element('p', { class: 'dim' }, box, 'and ' + more + ' more rows');
}

function drawQueries() {
  for (const attachment of data.attachments) {
    if (attachment.name !== 'owl') continue;
    let found = null;
    try { found = JSON.parse(attachment.content); } catch (error) { continue; }
    if (!found || !Array.isArray(found.tables)) continue;
    const box = byId('queries');
    if (!box.firstChild) element('h2', {}, box, 'Queries');
    element('code', { class: 'query' }, element('p', {}, box), found.query);
    for (const table of found.tables) queryTable(box, table);
    const lost = found.dropped ? [found.dropped + ' rows were lost'] : [];
    for (const text of (found.messages || []).concat(lost)) element('p', { class: 'warn' }, box, text);
    element('p', { class: 'dim' }, box, quantity(found.transactions, '') + ' transactions in ' + found.processes +
      (found.processes === 1 ? ' process' : ' processes') + '; modelled where a machine model publishes them.');
  }
}
