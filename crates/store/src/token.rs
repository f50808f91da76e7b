//! Tokens of `plumb serve`. The database has the hash of a token, never the token.

use crate::open::Durability;
use crate::time::{nanos, rfc3339};
use crate::{Store, StoreError};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TokenScope {
    /// Pages and the API, without changes.
    Read,
    /// The same, and results may be added.
    Write,
}

impl TokenScope {
    /// Returns the name that is stored and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A token in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenRow {
    /// The first characters of its hash.
    pub id: String,
    pub name: String,
    pub scope: TokenScope,
    /// RFC 3339, UTC.
    pub made_at: String,
    /// RFC 3339, UTC; `None` while it is valid.
    pub revoked_at: Option<String>,
}

/// Characters of the hash that name a token.
const ID_LENGTH: usize = 12;

/// The tokens of a server, in both databases.
pub trait TokenStore {
    /// Stores the hash of a token. Returns its id. A random token of 256 bits cannot be guessed, so a fast hash is enough.
    fn add_token(&mut self, token: &str, name: &str, scope: TokenScope) -> Result<String, StoreError>;

    /// Returns all tokens, also revoked ones, oldest first.
    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError>;

    /// Revokes the tokens whose id or name is `text`. Returns the number of tokens that were valid until now.
    fn revoke_token(&mut self, text: &str) -> Result<usize, StoreError>;

    /// Returns what a token allows; `None` if it is unknown or revoked.
    fn token_scope(&self, token: &str) -> Result<Option<TokenScope>, StoreError>;
}

impl TokenStore for Store {
    fn add_token(&mut self, token: &str, name: &str, scope: TokenScope) -> Result<String, StoreError> {
        let hash = token_hash(token);
        let id = token_id(&hash);
        let at = nanos(Timestamp::now());
        self.write("storing a token", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO access_token (id, hash, name, scope, made_at) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, hash, name, scope.name(), at],
            )
        })?;
        Ok(id)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let failed = self.failed("listing tokens");
        let mut statement = self
            .connection
            .prepare("SELECT id, name, scope, made_at, revoked_at FROM access_token ORDER BY made_at, id")
            .map_err(&failed)?;
        statement.query_map([], token_row).and_then(Iterator::collect).map_err(&failed)
    }

    fn revoke_token(&mut self, text: &str) -> Result<usize, StoreError> {
        let at = nanos(Timestamp::now());
        self.write("revoking a token", Durability::Power, |transaction| {
            transaction.execute(
                "UPDATE access_token SET revoked_at = ?2 WHERE (id = ?1 OR name = ?1) AND revoked_at IS NULL",
                params![text, at],
            )
        })
    }

    fn token_scope(&self, token: &str) -> Result<Option<TokenScope>, StoreError> {
        let scope: Option<String> = self
            .connection
            .prepare_cached("SELECT scope FROM access_token WHERE hash = ?1 AND revoked_at IS NULL")
            .and_then(|mut statement| statement.query_row([token_hash(token)], |row| row.get(0)).optional())
            .map_err(self.failed("looking for a token"))?;
        Ok(scope.and_then(|scope| scope.parse().ok()))
    }
}

/// Returns what a database has of a token: its blake3, in hex.
pub fn token_hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

/// Returns the id of a token, by its hash.
pub fn token_id(hash: &str) -> String {
    hash.chars().take(ID_LENGTH).collect()
}

fn token_row(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let scope: String = row.get(2)?;
    Ok(TokenRow {
        id: row.get(0)?,
        name: row.get(1)?,
        // The schema's CHECK allows no other words.
        scope: scope.parse().unwrap_or(TokenScope::Read),
        made_at: rfc3339(row.get(3)?),
        revoked_at: row.get::<_, Option<i64>>(4)?.map(rfc3339),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResultStore;

    // Protects a team whose database is copied: nobody can sign in with what is in it.
    #[test]
    fn only_the_hash_is_stored_and_a_revoked_token_opens_nothing() {
        let mut store = Store::open_in_memory().unwrap();
        let id = store.add_token("plumb_secret", "ci", TokenScope::Write).unwrap();
        assert_eq!(store.token_scope("plumb_secret").unwrap(), Some(TokenScope::Write));
        assert_eq!(store.token_scope(&token_hash("plumb_secret")).unwrap(), None, "the hash is no token");
        assert_eq!(store.token_scope("").unwrap(), None);
        let stored = format!("{:?}", store.query("SELECT * FROM access_token").unwrap());
        assert!(!stored.contains("plumb_secret"), "{stored}");
        assert_eq!(store.revoke_token(&id).unwrap(), 1);
        assert_eq!(store.revoke_token("ci").unwrap(), 0);
        assert_eq!(store.token_scope("plumb_secret").unwrap(), None);
        assert!(store.tokens().unwrap()[0].revoked_at.is_some());
    }
}
