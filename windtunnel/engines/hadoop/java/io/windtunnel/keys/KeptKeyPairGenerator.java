package io.windtunnel.keys;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyPairGeneratorSpi;
import java.security.NoSuchAlgorithmException;
import java.security.NoSuchProviderException;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.interfaces.RSAPrivateCrtKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.RSAPublicKeySpec;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Returns the RSA key pair in the file {@code windtunnel.key_pair} at the first call in this JVM.
 *
 * <p>Without a usable key of the wanted length in the file, it generates one and writes it to the
 * file. All other calls, and a first call without a length, generate keys with Java's own provider.
 */
public final class KeptKeyPairGenerator extends KeyPairGeneratorSpi {
  private static final AtomicBoolean FIRST = new AtomicBoolean(true);

  private int bits; // 0: the default of Java's own provider
  private SecureRandom random;

  @Override
  public void initialize(int keysize, SecureRandom source) {
    bits = keysize;
    random = source;
  }

  @Override
  public KeyPair generateKeyPair() {
    String file = System.getProperty("windtunnel.key_pair");
    if (file == null || bits == 0 || !FIRST.compareAndSet(true, false)) {
      return generated();
    }
    KeyPair kept = read(Path.of(file));
    if (kept != null) {
      return kept;
    }
    KeyPair fresh = generated();
    write(Path.of(file), fresh);
    return fresh;
  }

  private KeyPair generated() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA", "SunRsaSign");
      if (bits > 0) {
        generator.initialize(bits, random);
      }
      return generator.generateKeyPair();
    } catch (NoSuchAlgorithmException | NoSuchProviderException error) {
      throw new ProviderException(error);
    }
  }

  private KeyPair read(Path file) {
    try {
      KeyFactory rsa = KeyFactory.getInstance("RSA");
      RSAPrivateCrtKey key =
          (RSAPrivateCrtKey) rsa.generatePrivate(new PKCS8EncodedKeySpec(Files.readAllBytes(file)));
      if (key.getModulus().bitLength() != bits) {
        return null;
      }
      RSAPublicKeySpec open = new RSAPublicKeySpec(key.getModulus(), key.getPublicExponent());
      return new KeyPair(rsa.generatePublic(open), key);
    } catch (IOException | GeneralSecurityException | ClassCastException missing) {
      return null;
    }
  }

  private static void write(Path file, KeyPair pair) {
    Path half = file.resolveSibling(file.getFileName() + ".new");
    try {
      Files.write(half, pair.getPrivate().getEncoded());
      Files.move(half, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException full) {
      // the next deployment generates a key again
    }
  }
}
