//! The notebooks an editor shows as cells: which cells, in which order. Their texts are documents.
//!
//! Invariant: what is told here has been told by the editor; a notebook's cells are open documents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::editor::CellKind;
use protocol::DocumentState;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use vfs::{Dirty, Location};

use crate::lsp;

/// The open notebooks. Cloning shares them.
#[derive(Clone, Default)]
pub struct Notebooks(Arc<Parts>);

#[derive(Default)]
struct Parts {
    open: Mutex<BTreeMap<Location, Notebook>>,
    /// Counts changes of any of them.
    changed: watch::Sender<u64>,
}

/// One open notebook.
#[derive(Clone, Debug)]
pub struct Notebook {
    /// What the editor calls it.
    pub uri: String,
    /// Its version, which counts changes of cells and of their texts.
    pub version: i32,
    /// Whose changes are unsaved.
    pub dirty: Dirty,
    /// Its cells, in order.
    pub cells: Vec<Cell>,
    /// An edit of ours is on its way.
    is_ours: bool,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its text.
    pub location: Location,
    /// What it is.
    pub kind: CellKind,
    /// Its id in the file.
    pub id: Option<String>,
}

/// A notebook's identity and version on the wire.
#[derive(Deserialize)]
pub struct Versioned {
    uri: String,
    #[serde(default)]
    version: Option<i32>,
}

/// A notebook as it is opened.
#[derive(Deserialize)]
pub struct Opened {
    #[serde(flatten)]
    named: Versioned,
    #[serde(default)]
    cells: Vec<WireCell>,
}

/// A cell on the wire.
#[derive(Clone, Deserialize)]
pub struct WireCell {
    #[serde(default)]
    kind: u32,
    document: String,
    #[serde(default)]
    metadata: Value,
}

/// Cells that took the place of others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Splice {
    start: usize,
    delete_count: usize,
    #[serde(default)]
    cells: Vec<WireCell>,
}

/// What became of the cells.
pub struct Changes {
    /// Cells that came and went.
    pub splice: Option<Splice>,
    /// Cells whose metadata changed.
    pub data: Vec<WireCell>,
    /// Whether the text of a cell changed.
    pub text: bool,
}

impl Notebooks {
    /// One that is open.
    pub fn get(&self, location: &Location) -> Option<Notebook> {
        self.lock().get(location).cloned()
    }

    /// The notebook a cell is in, and the cell's index.
    pub fn of_cell(&self, cell: &Location) -> Option<(Location, usize)> {
        let open = self.lock();
        open.iter().find_map(|(location, notebook)| {
            let at = notebook.cells.iter().position(|it| it.location == *cell)?;
            Some((location.clone(), at))
        })
    }

    /// Is told of every change.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// An edit of ours is on its way, or is not any more.
    pub fn expect_ours(&self, location: &Location, is_ours: IsOurs) {
        if let Some(notebook) = self.lock().get_mut(location) {
            notebook.is_ours = is_ours == IsOurs::Yes;
        }
    }

    /// The editor opened one.
    pub fn opened(&self, opened: Opened) {
        let Opened { named, cells } = opened;
        let notebook = Notebook {
            version: named.version.unwrap_or_default(),
            dirty: Dirty::Clean,
            cells: cells.iter().map(Cell::of).collect(),
            is_ours: false,
            uri: named.uri,
        };
        self.lock().insert(lsp::location(&notebook.uri), notebook);
        self.tell();
    }

    /// The editor changed one; the texts of its cells have been taken over.
    pub fn changed(&self, named: &Versioned, changes: Changes) {
        if let Some(notebook) = self.lock().get_mut(&lsp::location(&named.uri)) {
            notebook.version = named.version.unwrap_or(notebook.version + 1);
            notebook.take(changes);
        }
        self.tell();
    }

    /// The editor saved one.
    pub fn saved(&self, named: &Versioned) {
        if let Some(notebook) = self.lock().get_mut(&lsp::location(&named.uri)) {
            notebook.dirty = Dirty::Clean;
        }
        self.tell();
    }

    /// The editor says which version one has and whether it is unsaved. VS Code counts what is
    /// typed in cells only after it has told of it.
    pub fn told(&self, location: &Location, state: &DocumentState) {
        let mut open = self.lock();
        let known = open.get_mut(location).filter(|it| it.version <= state.version);
        let Some(notebook) = known else { return };
        notebook.version = state.version;
        notebook.dirty = match (state.dirty, notebook.dirty) {
            (false, _) => Dirty::Clean,
            (true, Dirty::Ours) => Dirty::Ours,
            (true, Dirty::Clean | Dirty::Person) => Dirty::Person,
        };
        drop(open);
        self.tell();
    }

    /// The editor closed one.
    pub fn closed(&self, named: &Versioned) {
        self.lock().remove(&lsp::location(&named.uri));
        self.tell();
    }

    fn tell(&self) {
        self.0.changed.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Location, Notebook>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an edit of ours is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsOurs {
    /// It is.
    Yes,
    /// It is not.
    No,
}

impl Notebook {
    fn take(&mut self, changes: Changes) {
        let Changes { splice, data, text } = changes;
        for cell in data.iter().map(Cell::of) {
            if let Some(known) = self.cells.iter_mut().find(|it| it.location == cell.location) {
                *known = cell;
            }
        }
        if let Some(splice) = splice {
            let start = splice.start.min(self.cells.len());
            let end = (start + splice.delete_count).min(self.cells.len());
            self.cells.splice(start..end, splice.cells.iter().map(Cell::of));
            let ours = self.is_ours && self.dirty != Dirty::Person;
            self.dirty = if ours { Dirty::Ours } else { Dirty::Person };
        }
        if text {
            self.dirty = Dirty::Person;
        }
    }
}

impl Cell {
    fn of(cell: &WireCell) -> Cell {
        // VS Code's own notebooks keep the file's id here or there, by its age.
        let places = ["/id", "/custom/id", "/metadata/id"];
        let id = places.into_iter().find_map(|it| cell.metadata.pointer(it)?.as_str());
        Cell {
            location: lsp::location(&cell.document),
            kind: if cell.kind == 1 { CellKind::Markdown } else { CellKind::Code },
            id: id.map(str::to_owned),
        }
    }
}
