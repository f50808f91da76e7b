# Homebrew formula (Linux); the command is `plumb`. Not published: set `url` to the release, and `sha256` from SHA256SUMS.
class PlumbStorage < Formula
  desc "Storage benchmark that says what it measured"
  homepage "https://example.org/plumb"
  version "0.1.0"
  license any_of: ["MIT", "Apache-2.0"]

  on_intel do
    url "https://example.org/plumb/plumb-0.1.0-x86_64-linux-static.tar.gz"
    sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  end
  on_arm do
    url "https://example.org/plumb/plumb-0.1.0-aarch64-linux-static.tar.gz"
    sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  end

  depends_on :linux

  def install
    bin.install "plumb", "plumb-serve"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completions/plumb.bash" => "plumb"
    zsh_completion.install "completions/_plumb"
    fish_completion.install "completions/plumb.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/plumb --version")
    assert_match version.to_s, shell_output("#{bin}/plumb serve --version")
    system bin/"plumb", "run", "random-read", "--at", "sim:ssd", "--set", "time=100ms", "--no-store"
  end
end
