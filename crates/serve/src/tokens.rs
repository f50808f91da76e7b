//! `plumb serve token`: makes, lists and revokes tokens.

use crate::database::ServedDatabase;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::serve::TokenCommand;
use plumb_cli::session;
use plumb_store::{TokenScope, TokenStore};

/// Bytes of a token that come from the system's random numbers.
const RANDOM_BYTES: usize = 32;

/// Longest name of a token, in characters.
const NAME_MAX: usize = 64;

pub(crate) fn run(command: &TokenCommand, common: &Common) -> Result<End, Stopped> {
    match command {
        TokenCommand::Add { name, write } => {
            let scope = if *write { TokenScope::Write } else { TokenScope::Read };
            add(name, scope, common)
        }
        TokenCommand::List => list(common),
        TokenCommand::Revoke { token } => revoke(token, common),
    }
}

fn add(name: &str, scope: TokenScope, common: &Common) -> Result<End, Stopped> {
    let is_long = name.chars().count() > NAME_MAX;
    if name.is_empty() || is_long || name.chars().any(char::is_control) {
        return Err(Stopped::usage(format!(
            "a token's name has 1 to {NAME_MAX} characters, none of them a control character"
        )));
    }
    let token = new_token()?;
    let id = ServedDatabase::find(common)?.open_to_administer()?.add_token(&token, name, scope)?;
    output::print(&format!("{token}\n"));
    error_line!("Token {id} for {name} may {}. It is stored nowhere: keep it, or make another one.", may(scope));
    Ok(End::Done)
}

const fn may(scope: TokenScope) -> &'static str {
    match scope {
        TokenScope::Read => "read",
        TokenScope::Write => "read and add results",
    }
}

/// Returns a random token, with a prefix by which searches for secrets in repositories recognise it.
fn new_token() -> Result<String, Stopped> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Stopped::io(format!("no random numbers: {error}")))?;
    Ok(format!("plumb_{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

fn list(common: &Common) -> Result<End, Stopped> {
    let tokens = match session::shared_address(common) {
        Some(_) => ServedDatabase::find(common)?.open_reader()?.tokens()?,
        None => session::local_store_to_read(common)?.tokens()?,
    };
    if tokens.is_empty() {
        output::print("no tokens; `plumb serve token add NAME` makes one\n");
        return Ok(End::Done);
    }
    let cell = |time: &str| time.get(..16).unwrap_or(time).replace('T', " ");
    let rows: Vec<Vec<String>> = tokens
        .iter()
        .map(|token| {
            let revoked = token.revoked_at.as_deref().map(cell).unwrap_or_default();
            vec![token.id.clone(), token.scope.name().to_owned(), token.name.clone(), cell(&token.made_at), revoked]
        })
        .collect();
    let head = ["token", "may", "name", "made (UTC)", "revoked (UTC)"];
    output::print(&plumb_report::list::table(&head, &rows, &session::table_style()));
    Ok(End::Done)
}

fn revoke(token: &str, common: &Common) -> Result<End, Stopped> {
    match ServedDatabase::find(common)?.open_to_administer()?.revoke_token(token)? {
        0 => Err(Stopped::usage(format!("no valid token has the id or name `{token}`; see `plumb serve token list`"))),
        count => {
            output::print(&format!("revoked: {count}\n"));
            Ok(End::Done)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_have_256_random_bits() {
        let [one, other] = [(); 2].map(|()| new_token().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), "plumb_".len() + 2 * RANDOM_BYTES);
    }
}
