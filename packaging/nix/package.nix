{
  lib,
  rustPlatform,
  installShellFiles,
}:

rustPlatform.buildRustPackage {
  pname = "plumb-storage";
  version = "0.1.0";

  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [
    "--package=plumb-storage"
    "--package=plumb-serve"
  ];
  buildType = "dist";
  # Line tables go to the output "debug".
  separateDebugInfo = true;

  nativeBuildInputs = [ installShellFiles ];

  # The tests need loop devices, virtual machines and other benchmarks.
  doCheck = false;

  postInstall = ''
    $out/bin/plumb man --all man
    installManPage man/*.1
    installShellCompletion --cmd plumb \
      --bash <($out/bin/plumb completions bash) \
      --zsh <($out/bin/plumb completions zsh) \
      --fish <($out/bin/plumb completions fish)
  '';

  meta = {
    description = "Storage benchmark that says what it measured";
    license = with lib.licenses; [
      mit
      asl20
    ];
    platforms = lib.platforms.linux;
    mainProgram = "plumb";
  };
}
