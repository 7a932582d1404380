// What the page uses of Apache ECharts: bundled by esbuild, not part of the page's own script.
import { ComponentModel, init as initChart, use } from 'echarts/core';
import { CustomChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, DataZoomInsideComponent, DataZoomSliderComponent, GridComponent, MarkLineComponent, TitleComponent,
  ToolboxComponent, TooltipComponent, VisualMapContinuousComponent,
} from 'echarts/components';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';

use([CustomChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomInsideComponent,
  DataZoomSliderComponent, GridComponent, MarkLineComponent, TitleComponent, ToolboxComponent, TooltipComponent,
  VisualMapContinuousComponent, CanvasRenderer, SVGRenderer]);

// What an option asks for and is not in the lists above: ECharts would leave it out without a word.
function missingIn(option) {
  const missing = [];
  for (const [key, value] of Object.entries(option)) {
    if (value === null || typeof value !== 'object' || ['aria', 'color', 'textStyle'].includes(key)) continue;
    for (const one of [].concat(value)) {
      const found = one && one.type ? ComponentModel.getClass(key, one.type) : ComponentModel.hasClass(key);
      if (!found) missing.push(one && one.type ? key + ' ' + one.type : key);
    }
  }
  return missing;
}

function init(place, ...more) {
  const chart = initChart(place, ...more), draw = chart.setOption;
  let said = false;
  chart.setOption = (option, ...how) => {
    const missing = missingIn(option);
    if (missing.length && !said) {
      said = true;
      const text = 'This chart lacks what charts.js does not import: ' + missing.join(', ') + '.';
      const note = place ? place.ownerDocument.createElement('p') : null;
      if (note) {
        note.className = 'warn';
        note.textContent = text;
        place.after(note);
      }
      console.error(text);
    }
    return draw.call(chart, option, ...how);
  };
  return chart;
}

export { init };
