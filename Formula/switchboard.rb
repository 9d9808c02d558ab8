# The repository is its own tap: `brew tap OWNER/switchboard URL`, then `brew install --HEAD
# OWNER/switchboard/switchboard`. OWNER is whoever publishes it. No Homebrew has run this yet; a
# test compares it with pyproject.toml.
class Switchboard < Formula
  desc "Local MCP control plane for coding agents"
  homepage "https://github.com/OWNER/switchboard"
  license "MIT"
  head "https://github.com/OWNER/switchboard.git", branch: "main"

  depends_on "rust" => :build
  depends_on "python@3.13"

  on_linux do
    depends_on "bubblewrap"
  end

  def install
    python = Formula["python@3.13"].opt_bin/"python3.13"
    system python, "-m", "venv", libexec
    pip = libexec/"bin/pip"
    # Exactly what was tested, by hash; then this project and nothing else.
    system pip, "install", "--require-hashes", "--requirement", "requirements.lock"
    system pip, "install", "--no-deps", buildpath
    %w[switchboard switchyard sy].each { |name| bin.install_symlink libexec/"bin"/name }
    man1.install Dir["man/*.1"]
  end

  def caveats
    <<~EOS
      An upgrade replaces the interpreter under a daemon that runs. Afterwards:
        switchboard daemon restart
    EOS
  end

  test do
    ENV["SWITCHBOARD_HOME"] = testpath/"home"
    assert_match "promises", shell_output("#{bin}/switchboard doctor")
    system bin/"switchyard", "--help"
    system bin/"sy", "--help"
  end
end
