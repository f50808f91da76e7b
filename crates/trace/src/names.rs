//! The files and threads of a recording, numbered as they are met.

use crate::record::{FileName, Task};
use std::collections::HashMap;

/// Files and threads by their numbers.
#[derive(Debug, Default)]
pub struct Names {
    files: Vec<FileName>,
    tasks: Vec<Task>,
    file_numbers: HashMap<FileName, u32>,
    task_numbers: HashMap<Task, u32>,
    /// A path that is being looked up, so that one that is known is not copied.
    key: Option<FileName>,
}

impl Names {
    /// All files.
    pub fn files(&self) -> &[FileName] {
        &self.files
    }

    /// All threads.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The number of a path.
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

    /// The number of a file.
    pub fn file(&mut self, name: FileName) -> u32 {
        let next = self.files.len() as u32;
        *self.file_numbers.entry(name).or_insert_with_key(|name| {
            self.files.push(name.clone());
            next
        })
    }

    /// The number of a device.
    pub fn device(&mut self, major: u32, minor: u32) -> u32 {
        self.file(FileName::Device { major, minor })
    }

    /// The number of a thread.
    pub fn task(&mut self, task: Task) -> u32 {
        let next = self.tasks.len() as u32;
        *self.task_numbers.entry(task).or_insert_with_key(|task| {
            self.tasks.push(task.clone());
            next
        })
    }
}
