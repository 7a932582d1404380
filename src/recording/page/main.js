// Puts the parts together; the theme; the keyboard.
function theme() {
  const set = document.documentElement.dataset.theme;
  return set || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}
function redraw() {
  byId('theme').textContent = theme() === 'dark' ? 'Light' : 'Dark';
  if (!byId('lines')) return;  // without charts, or before the first values
  drawTimes();
  drawPanels();
}
function switchTheme() {
  document.documentElement.dataset.theme = theme() === 'dark' ? 'light' : 'dark';
  redraw();
}

function start() {
  drawHead();
  if (data.live) {
    startLive();
  } else if (data.comparison) {
    drawComparison();
  } else {
    drawOverview();
    drawFindings();
    if (hasCharts) setUpTimes();
    drawRegionTable();
    drawQueries();
    if (hasCharts) setUpPanels();
    drawSeriesTable();
    drawProvenance();
  }
  if (hasCharts && !data.comparison)
    element('p', { class: 'dim' }, byId('foot'), 'Charts: Apache ECharts, © The Apache Software Foundation, Apache License 2.0; ' +
      'its licence and those of its parts stand in the source of this page.');
  redraw();
  const keys = { '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), ArrowLeft: () => move(-1 / 3),
    ArrowRight: () => move(1 / 3), 0: () => show(whole[0], whole[1]), d: switchTheme };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    if (!keys[event.key] || (!timeChart && event.key !== 'd')) return;
    event.preventDefault();
    keys[event.key]();
  });
  let again = 0;
  window.addEventListener('resize', () => {
    clearTimeout(again);
    again = setTimeout(redraw, 100);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}
// What scripts that open the page can ask.
window.substrataPage = { view: () => view, panels: () => panels, picture: () => pictureSvg(), chart: () => timeChart };
start();
