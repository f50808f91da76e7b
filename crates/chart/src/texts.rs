//! All texts of a chart.

use crate::{Body, Chart};

impl Chart {
    /// Applies `change` to every text of the chart.
    pub fn map_texts(&mut self, change: &mut dyn FnMut(&str) -> String) {
        for text in [&mut self.name, &mut self.title, &mut self.caption, &mut self.alt] {
            *text = change(text);
        }
        // The name of a file must stay a valid one.
        self.name = self.name.replace('/', "-");
        for text in self.body.texts() {
            *text = change(text);
        }
    }
}

impl Body {
    fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Body::Forest(forest) => {
                let rows = forest.rows.iter_mut().flat_map(|row| [&mut row.label, &mut row.words]);
                rows.chain([&mut forest.axis_title]).collect()
            }
            Body::Bars(bars) => {
                let mut texts = vec![&mut bars.axis.title];
                texts.extend(&mut bars.series);
                for group in &mut bars.groups {
                    texts.push(&mut group.label);
                    texts.extend(group.bars.iter_mut().map(|bar| &mut bar.missing));
                }
                texts
            }
            Body::Lines(lines) => {
                let mut texts = vec![&mut lines.x.title];
                texts.extend(&mut lines.x_names);
                for panel in &mut lines.panels {
                    texts.push(&mut panel.y.title);
                    texts.extend(panel.series.iter_mut().map(|series| &mut series.name));
                }
                texts.extend(lines.marks.iter_mut().flat_map(|mark| [&mut mark.sign, &mut mark.label]));
                texts
            }
            Body::Heat(heat) => {
                let names = heat.x.iter_mut().chain(&mut heat.y);
                let edges = heat.edges.iter_mut().map(|(_, name)| name);
                names.chain(edges).chain([&mut heat.x_title, &mut heat.y_title, &mut heat.values_title]).collect()
            }
            Body::Density(density) => {
                let mut texts = vec![&mut density.x.title, &mut density.y.title, &mut density.values_title];
                texts.extend(density.columns.iter_mut().map(|column| &mut column.hover_text));
                texts
            }
        }
    }
}
