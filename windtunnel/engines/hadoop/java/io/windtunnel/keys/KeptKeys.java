package io.windtunnel.keys;

import java.security.Provider;

/**
 * A security provider whose first RSA key pair comes from a file; see KeptKeyPairGenerator.
 *
 * <p>A file of security properties lists it and prefers it for {@code KeyPairGenerator.RSA}.
 */
public final class KeptKeys extends Provider {
  private static final long serialVersionUID = 1;

  /** The provider, as {@code security.provider.N} creates it. */
  public KeptKeys() {
    super("KeptKeys", "1", "the first RSA key pair comes from a file");
    put("KeyPairGenerator.RSA", KeptKeyPairGenerator.class.getName());
  }
}
