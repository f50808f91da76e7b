use super::*;

/// Key of 2048 bits, generated for this test by `openssl genpkey -algorithm RSA`.
const KEY: &str = include_str!("tests/key.pem");
const PUBLIC: &str = include_str!("tests/public.pem");
/// The same key in OpenSSL's older format.
const OLD_KEY: &str = include_str!("tests/old_key.pem");

/// A token of `alice`, `secret`, 1795200302, encrypted by OpenSSL (`pkeyutl -encrypt -pkeyopt
/// rsa_padding_mode:oaep`).
const OPENSSL: &str = include_str!("tests/token.txt");

thread_local! {
    /// Steps of all examinations in this thread.
    pub static STEPS: std::cell::RefCell<Vec<&'static str>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn claim() -> Claim {
    Claim { user: "alice".to_owned(), password: "secret".to_owned().into(), at: 1_795_200_302 }
}

fn gate(padding: Padding) -> Gate {
    let hash = "5beb2ba3f7a4cf6f1a8a5ea2dbe3f3f0b5a4b6c0d2c3a1f3d1c0a8ac0e3d2f10";
    let real: String = Sha256::digest("{alice}secret").iter().map(|byte| format!("{byte:02X}")).collect();
    let users = Users::read(&format!("# users\n\nbob,{hash}\nalice,{real}\n")).expect("sound");
    Gate::new(PrivateKey::read(KEY).expect("a key"), users, padding, 10)
}

#[test]
fn the_text_of_a_token_equals_iperf3s() {
    assert_eq!(*claim().text(), "user: alice\npwd:  secret\nts:   1795200302");
    let odd = Claim { password: "a\npwd:  b\nts:   c".to_owned().into(), ..claim() };
    assert_eq!(Claim::read(odd.text().as_bytes()), Some(odd));
    for wrong in
        ["", "user: a", "user: a\npwd:  b", "user: a\npwd:  b\nts:   ", "user: a\npwd:  b\nts:   1x", "a\nb\n1"]
    {
        assert_eq!(Claim::read(wrong.as_bytes()), None, "{wrong:?}");
    }
}

#[test]
fn a_token_by_openssl_is_admitted_once() {
    let gate = gate(Padding::Oaep);
    let token = OPENSSL.trim();
    assert_eq!(gate.admit(Some(token), 1_795_200_300), Ok("alice".to_owned()));
    assert_eq!(gate.admit(Some(token), 1_795_200_301), Err(Denied::Replayed("alice".to_owned())));
    let late = gate.admit(Some(token), 1_795_200_313);
    assert_eq!(late, Err(Denied::Skew { user: "alice".to_owned(), off: 11, most: 10 }));
    // Expired tokens are forgotten, and refused because of their time.
    assert_eq!(gate.admit(Some(token), 1_795_200_312), Err(Denied::Replayed("alice".to_owned())));
}

#[test]
fn both_paddings_round_trip_and_differ() {
    let public = PublicKey::read(PUBLIC).expect("a key");
    let all = [Padding::Oaep, Padding::Pkcs1];
    for padding in all {
        let token = claim().token(&public, padding).expect("short");
        assert_ne!(Some(&token), claim().token(&public, padding).as_ref(), "it has random bytes");
        for reads in all {
            let admitted = gate(reads).admit(Some(&token), claim().at);
            let expected = if reads == padding { Ok("alice".to_owned()) } else { Err(Denied::Unreadable) };
            assert_eq!(admitted, expected, "{padding:?} {reads:?}");
        }
    }
    assert!(Claim { password: "x".repeat(200).into(), ..claim() }.token(&public, Padding::Oaep).is_none());
}

#[test]
fn unknown_users_are_not_admitted() {
    let public = PublicKey::read(PUBLIC).expect("a key");
    let token = |user: &str, password: &str, at| {
        Claim { user: user.to_owned(), password: password.to_owned().into(), at }.token(&public, Padding::Oaep)
    };
    let now = 1_795_200_302;
    let gate = gate(Padding::Oaep);
    for token in
        [token("alice", "Secret", now), token("bob", "secret", now), token("", "", now), token("eve", "-", now)]
    {
        assert_eq!(gate.admit(token.as_deref(), now), Err(Denied::Wrong));
    }
    assert_eq!(gate.admit(None, now), Err(Denied::NoToken));
    let long = "A".repeat(1 << 20);
    for garbage in ["", "AAAA", "not base64!", &"A".repeat(344), &"/".repeat(342), &long] {
        assert_eq!(gate.admit(Some(garbage), now), Err(Denied::Unreadable), "{} bytes", garbage.len());
    }
    // A flood of valid tokens is stopped at the limit until they expire.
    *gate.taken.lock().expect("sound") = vec![([0; 32], now + 10); TOKENS_MAX];
    assert_eq!(gate.admit(token("alice", "secret", now).as_deref(), now), Err(Denied::Many));
    assert!(gate.admit(token("alice", "secret", now + 11).as_deref(), now + 11).is_ok());
}

#[test]
fn malformed_users_and_keys_are_errors() {
    assert_eq!(Users::read("# x\nalice\n"), Err(2));
    assert_eq!(Users::read(&format!("alice,{}", "g".repeat(64))), Err(1));
    assert_eq!(Users::read("alice,abc"), Err(1));
    assert!(PrivateKey::read(OLD_KEY).is_ok());
    assert_eq!(PublicKey::read(KEY).err(), Some(KeyWrong::NotPem("PUBLIC KEY")));
    assert_eq!(PrivateKey::read(PUBLIC).err(), Some(KeyWrong::NotPem("PRIVATE KEY")));
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert_eq!(PrivateKey::read(encrypted).err(), Some(KeyWrong::Encrypted));
    // Truncated or changed keys are errors and never panic.
    let der =
        BASE64_STANDARD.decode(KEY.lines().filter(|line| !line.starts_with('-')).collect::<String>()).expect("PEM");
    let wrap = |der: &[u8]| {
        let digits = BASE64_STANDARD.encode(der);
        let lines: Vec<String> =
            digits.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into()).collect();
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", lines.join("\n"))
    };
    assert!(PrivateKey::read(&wrap(&der)).is_ok());
    for cut in (0..der.len()).step_by(97) {
        assert!(PrivateKey::read(&wrap(&der[..cut])).is_err(), "{cut} bytes");
    }
    // Change the outer header, and the key type.
    for at in (0..4).chain(7..20) {
        let mut changed = der.clone();
        changed[at] ^= 0x55;
        assert!(PrivateKey::read(&wrap(&changed)).is_err(), "byte {at}");
    }
}

// Protects the server's key: an undecryptable token, an unknown user and a wrong password cost the same steps as a
// valid token, with both paddings. Before, an unreadable token ended the examination early, and a token of another
// length was not decrypted.
#[test]
fn all_tokens_cost_the_same_steps() {
    let public = PublicKey::read(PUBLIC).expect("a key");
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        let gate = gate(padding);
        let token = |claim: Claim| claim.token(&public, padding).expect("short");
        let unknown = Claim { user: "mallory".to_owned(), ..claim() };
        let wrong = Claim { password: "Secret".to_owned().into(), ..claim() };
        let other = if padding == Padding::Oaep { Padding::Pkcs1 } else { Padding::Oaep };
        let base64 = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
        let unreadable = [
            claim().token(&public, other).expect("short"),
            base64(&public.encrypt(b"no claim", padding).expect("short")),
            base64(&[0; 256]),
            base64(&[255; 256]),
            base64(&[1; 255]),
            base64(&[1; 257]),
            base64(b""),
            "!".to_owned(),
            "A".repeat(TOKEN_BYTES_MAX + 1),
        ];
        let denied = [(token(unknown), Denied::Wrong), (token(wrong), Denied::Wrong)];
        let cases = unreadable.into_iter().map(|token| (token, Denied::Unreadable)).chain(denied);
        for (token, expected) in cases {
            STEPS.with_borrow_mut(Vec::clear);
            assert_eq!(gate.admit(Some(&token), claim().at), Err(expected), "{token}");
            assert_eq!(STEPS.with_borrow(Vec::clone), ["decrypt", "users", "hash"], "{token}");
        }
        STEPS.with_borrow_mut(Vec::clear);
        assert!(gate.admit(Some(&token(claim())), claim().at).is_ok());
        assert_eq!(STEPS.with_borrow(Vec::clone), ["decrypt", "users", "hash"]);
    }
}

#[test]
fn answers_come_at_multiples_of_a_step() {
    let at = |ms| answer_at(Duration::from_millis(ms)).as_millis();
    assert_eq!([at(0), at(1), at(249), at(250), at(700)], [250, 250, 250, 500, 750]);
    assert!(answer_at(Duration::MAX) > Duration::from_secs(1));
}
