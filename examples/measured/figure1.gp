# Draws figure 1 from the files that draw_figure prepared: `data` is their folder, `png` the output, `title` the program.
load data."/names.gp"
head = 90
panel = 330
tall = ranks * panel + head
set terminal pngcairo size 1400, tall font "sans,11" noenhanced
set output png
set multiplot
set label 10 title.": computation and communication per rank, temperature above" at screen 0.5, 1 - 22.0 / tall center font "sans,14"
set label 11 "blue, left axis: ".operations at screen 0.02, 1 - 48.0 / tall textcolor rgb "#2471a3"
set label 12 "orange, right axis: ".packets at screen 0.36, 1 - 48.0 / tall textcolor rgb "#ca6f1e"
set label 13 "red: ".heat at screen 0.70, 1 - 48.0 / tall textcolor rgb "#c0392b"
set style fill solid 0.6 noborder
unset key
set lmargin at screen 0.07
set rmargin at screen 0.93
do for [rank = 0:ranks - 1] {
  file = data.sprintf("/rank%d", rank)
  stats file using 2 nooutput
  set xrange [0:STATS_max]
  top = 1 - (head + rank * panel + 0.0) / tall
  height = (panel + 0.0) / tall
  # Temperature.
  set tmargin at screen top
  set bmargin at screen top - 0.24 * height
  set title sprintf("rank %d", rank) offset 0, -0.7
  set format x ""
  unset xlabel
  unset y2tics
  unset y2label
  set ytics nomirror autofreq
  set ylabel "degrees C"
  if (warm) {
    set yrange [*:*]
    set offsets 0, 0, 1, 1
    plot file using 2:6 with linespoints pointtype 7 pointsize 0.3 linecolor rgb "#c0392b"
  } else {
    set yrange [0:1]
    set label 1 heat at graph 0.5, 0.5 center
    plot NaN
    unset label 1
  }
  # The labels of the picture belong to its first plot.
  unset for [i = 10:13] label i
  # Operations on the left axis, packets on the right.
  unset title
  set offsets 0, 0, 0, 0
  set tmargin at screen top - 0.30 * height
  set bmargin at screen top - 0.78 * height
  set format x "%g"
  if (rank == ranks - 1) {
    set xlabel "time [s]"
  }
  set ylabel "million / s"
  set y2label carried
  set y2tics
  set yrange [0:*]
  set y2range [0:*]
  plot file using ($3 == 0 ? ($1 + $2) / 2 : NaN):($4 / 2):1:2:(0):4 with boxxyerror linecolor rgb "#2980b9" axes x1y1, \
       file using ($3 == 1 ? ($1 + $2) / 2 : NaN):($5 / 2):1:2:(0):5 with boxxyerror linecolor rgb "#e67e22" axes x1y2
}
unset multiplot
