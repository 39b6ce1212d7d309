package io.windtunnel.s3;

import software.amazon.awssdk.auth.signer.S3SignerExecutionAttribute;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;

/**
 * Signs an empty object as a whole instead of in chunks. Ceph's gateway up to version 16 refuses an
 * empty object that is signed in chunks (XAmzContentSHA256Mismatch).
 *
 * <p>S3A loads it with the property {@code fs.s3a.audit.execution.interceptors}.
 */
public final class WholePayload implements ExecutionInterceptor {
  @Override
  public void beforeExecution(Context.BeforeExecution context, ExecutionAttributes attributes) {
    if (context.request() instanceof PutObjectRequest) {
      Long length = ((PutObjectRequest) context.request()).contentLength();
      if (length != null && length == 0) {
        attributes.putAttribute(S3SignerExecutionAttribute.ENABLE_CHUNKED_ENCODING, false);
      }
    }
  }
}
