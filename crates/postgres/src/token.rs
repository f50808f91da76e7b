//! Tokens of `plumb serve` in the shared database. Its owner makes them; readers and writers only check them.

use crate::SharedStore;
use plumb_store::{StoreError, TokenRow, TokenScope, TokenStore, rfc3339, token_hash, token_id, unix_ns};
use postgres::Row;

impl TokenStore for SharedStore {
    fn add_token(&mut self, token: &str, name: &str, scope: TokenScope) -> Result<String, StoreError> {
        let hash = token_hash(token);
        let id = token_id(&hash);
        let sql = "INSERT INTO access_token (id, hash, name, scope, made_at) VALUES ($1, $2, $3, $4, $5) RETURNING id";
        self.rows("storing a token", sql, &[&id, &hash, &name, &scope.name(), &unix_ns()], |_| Ok(()))?;
        Ok(id)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let sql = "SELECT id, name, scope, made_at, revoked_at FROM access_token ORDER BY made_at, id";
        self.rows("listing tokens", sql, &[], |row: &Row| {
            let scope: String = row.try_get(2)?;
            Ok(TokenRow {
                id: row.try_get(0)?,
                name: row.try_get(1)?,
                // The schema's CHECK allows no other words.
                scope: scope.parse().unwrap_or(TokenScope::Read),
                made_at: rfc3339(row.try_get(3)?),
                revoked_at: row.try_get::<_, Option<i64>>(4)?.map(rfc3339),
            })
        })
    }

    fn revoke_token(&mut self, text: &str) -> Result<usize, StoreError> {
        let sql = "UPDATE access_token SET revoked_at = $2 WHERE (id = $1 OR name = $1) AND revoked_at IS NULL
                   RETURNING id";
        Ok(self.rows("revoking a token", sql, &[&text, &unix_ns()], |_| Ok(()))?.len())
    }

    fn token_scope(&self, token: &str) -> Result<Option<TokenScope>, StoreError> {
        let sql = "SELECT scope FROM access_token WHERE hash = $1 AND revoked_at IS NULL";
        let scope =
            self.rows("looking for a token", sql, &[&token_hash(token)], |row| row.try_get::<_, String>(0))?.pop();
        Ok(scope.and_then(|scope| scope.parse().ok()))
    }
}
