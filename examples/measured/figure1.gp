# Draws figure 1 from the files that draw_figure prepared: `data` is their folder, `png` the output, `title` the program.
load data."/names.gp"
columns = 1
lines = (ranks + columns - 1) / columns
set terminal pngcairo size 800 * columns, 420 * lines + 60 font "sans,11" noenhanced
set output png
set multiplot title title.": computation and communication per rank\nboxes: ".operations.", bars: ".packets."; line above: ".heat
set style fill solid 0.6 noborder
left(column) = (column + 0.0) / columns
width = 1.0 / columns
height = 0.9 / lines
do for [rank = 0:ranks - 1] {
  file = data.sprintf("/rank%d", rank)
  stats file using 2 nooutput
  last = STATS_max
  warm = 0
  if (heat ne "no temperature sensor") { warm = 1 }
  x = left(rank % columns)
  y = 0.9 - height * (rank / columns + 1)
  set lmargin at screen x + 0.1 * width
  set rmargin at screen x + 0.88 * width
  set xrange [0:last]
  # Temperature.
  set tmargin at screen y + 0.92 * height
  set bmargin at screen y + 0.68 * height
  set title sprintf("rank %d", rank) offset 0, -0.7
  set format x ""
  unset xlabel
  unset y2tics
  unset y2label
  set ytics nomirror
  set ylabel "degrees C"
  set yrange [*:*]
  set offsets 0, 0, 0.2, 0.2
  if (warm) {
    plot file using 2:6 with linespoints pointtype 7 pointsize 0.3 linecolor rgb "#c0392b" notitle
  } else {
    set yrange [0:1]
    set label 1 "no temperature sensor" at graph 0.5, 0.5 center
    plot NaN notitle
    unset label 1
  }
  # Operations on the left axis, packets on the right.
  unset title
  unset offsets
  set tmargin at screen y + 0.62 * height
  set bmargin at screen y + 0.16 * height
  set format x "%g"
  set xlabel "time [s]"
  set ylabel "million operations / s"
  set y2label "packets"
  set y2tics
  set yrange [0:*]
  set y2range [0:*]
  plot file using ($3 == 0 ? ($1 + $2) / 2 : NaN):($4 / 2):1:2:(0):4 with boxxyerror linecolor rgb "#2980b9" axes x1y1 \
         title (rank == 0 ? "compute" : ""), \
       file using ($3 == 1 ? ($1 + $2) / 2 : NaN):($5 / 2):1:2:(0):5 with boxxyerror linecolor rgb "#e67e22" axes x1y2 \
         title (rank == 0 ? "communicate" : "")
}
unset multiplot
