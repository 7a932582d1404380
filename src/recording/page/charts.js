// What the page uses of Apache ECharts: bundled by esbuild, not part of the page's own script.
import { init, use } from 'echarts/core';
import { CustomChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, DataZoomInsideComponent, DataZoomSliderComponent, GridComponent, MarkLineComponent, TitleComponent,
  ToolboxComponent, TooltipComponent, VisualMapContinuousComponent,
} from 'echarts/components';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';

use([CustomChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomInsideComponent,
  DataZoomSliderComponent, GridComponent, MarkLineComponent, TitleComponent, ToolboxComponent, TooltipComponent,
  VisualMapContinuousComponent, CanvasRenderer, SVGRenderer]);

export { init };
