const charts = JSON.parse(document.getElementById('charts').textContent);
const options = {responsive: true, displaylogo: false, modeBarButtonsToRemove: ['select2d', 'lasso2d', 'sendChartToCloud']};
// On a phone, panels stand one below the other, and so do a chart and a legend that would be beside it.
if (window.innerWidth < 600) {
  options.displayModeBar = false;
  for (const {name, layout} of charts) {
    const {grid, legend} = layout;
    if (grid && grid.columns > 1) {
      layout.height *= 0.85 * grid.columns;
      layout.grid = {...grid, rows: grid.rows * grid.columns, columns: 1, ygap: 0.4};
      // Beside each other, panels with one scale share the title of the first.
      for (const axis of Object.values(layout)) {
        if (axis.matches === 'y') axis.title = layout.yaxis.title;
      }
    }
    if (legend.orientation === 'v') {
      layout.height += 120;
      layout.legend = {...legend, orientation: 'h', x: 0, y: -0.2};
    }
    document.getElementById(name).style.height = layout.height + 'px';
  }
}
Promise.all(charts.map(chart => Plotly.newPlot(chart.name, chart.data, chart.layout, options)))
  .then(() => { document.body.dataset.drawn = charts.length; });
const tables = JSON.parse(document.getElementById('tables').textContent);
for (const button of document.querySelectorAll('button[data-file]')) {
  button.addEventListener('click', () => {
    const link = document.createElement('a');
    // The mark at the beginning tells spreadsheets that the text is UTF-8.
    link.href = URL.createObjectURL(new Blob(['\ufeff', tables[button.dataset.file]], {type: 'text/csv'}));
    link.download = button.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}
