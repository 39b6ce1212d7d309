package org.apache.pig.org.roaringbitmap;

/**
 * Stands where Pig looks for its own copy of RoaringBitmap, which no repository has.
 *
 * <p>Pig's release carries that class in a jar of its own and names it whenever it submits a job;
 * only joins with a Bloom filter use it. They fail here.
 */
public class RoaringBitmap {
  public RoaringBitmap() {
    throw new UnsupportedOperationException(
        "joins with a Bloom filter need RoaringBitmap, which is only in Pig's own release");
  }
}
