package dev.lithify.oracle.values;

import java.nio.charset.StandardCharsets;

/**
 * A hash of a multiset of texts: the sums, modulo 2^64, of two independent 64-bit hashes of each text's UTF-8
 * bytes. The order of the texts does not matter, their number does. README.md gives the formulas.
 */
public final class MultisetHash {
    private static final long FNV_BASIS = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;
    private static final long POLYNOMIAL = 0x9e3779b97f4a7c15L;

    private long first;
    private long second;

    public void add(String text) {
        long fnv = FNV_BASIS;
        long polynomial = 0;
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            int unsigned = b & 0xff;
            fnv = (fnv ^ unsigned) * FNV_PRIME;
            polynomial = polynomial * POLYNOMIAL + unsigned + 1;
        }
        first += mix(fnv);
        second += mix(polynomial);
    }

    public String hex() {
        return String.format("%016x%016x", first, second);
    }

    /** The finaliser of MurmurHash3: every input bit reaches every output bit. */
    static long mix(long hash) {
        long mixed = (hash ^ (hash >>> 33)) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ (mixed >>> 33)) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ (mixed >>> 33);
    }
}
