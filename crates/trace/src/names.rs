//! The files and threads of a recording, numbered in order of appearance.

use crate::record::{FileName, Task};
use std::collections::HashMap;

/// Files and threads by number.
#[derive(Debug, Default)]
pub struct Names {
    files: Vec<FileName>,
    tasks: Vec<Task>,
    file_numbers: HashMap<FileName, u32>,
    task_numbers: HashMap<Task, u32>,
    /// Reused lookup key, so that a known path is not copied.
    key: Option<FileName>,
}

impl Names {
    /// Returns all files; a record's file number is the index.
    pub fn files(&self) -> &[FileName] {
        &self.files
    }

    /// Returns all threads; a record's task number is the index.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns the number of a path. Adds it if it is new.
    pub fn path(&mut self, path: &str) -> u32 {
        let mut key = match self.key.take() {
            Some(FileName::Path(key)) => key,
            _ => String::new(),
        };
        key.clear();
        key.push_str(path);
        let key = self.key.insert(FileName::Path(key));
        if let Some(&number) = self.file_numbers.get(key) {
            return number;
        }
        let name = key.clone();
        self.file(name)
    }

    /// Returns the number of a file. Adds it if it is new.
    pub fn file(&mut self, name: FileName) -> u32 {
        let next = self.files.len() as u32;
        *self.file_numbers.entry(name).or_insert_with_key(|name| {
            self.files.push(name.clone());
            next
        })
    }

    /// Returns the number of a device. Adds it if it is new.
    pub fn device(&mut self, major: u32, minor: u32) -> u32 {
        self.file(FileName::Device { major, minor })
    }

    /// Returns the number of a thread. Adds it if it is new.
    pub fn task(&mut self, task: Task) -> u32 {
        let next = self.tasks.len() as u32;
        *self.task_numbers.entry(task).or_insert_with_key(|task| {
            self.tasks.push(task.clone());
            next
        })
    }
}
