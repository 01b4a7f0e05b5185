const charts = JSON.parse(document.getElementById('charts').textContent);
const options = {responsive: true, displaylogo: false, modeBarButtonsToRemove: ['select2d', 'lasso2d', 'sendChartToCloud']};
Promise.all(charts.map(chart => Plotly.newPlot(chart.name, chart.data, chart.layout, options)))
  .then(() => { document.body.dataset.drawn = charts.length; });
