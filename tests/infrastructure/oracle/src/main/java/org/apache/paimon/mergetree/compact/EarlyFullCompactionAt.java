package org.apache.paimon.mergetree.compact;

/**
 * Paimon's early full compaction with a clock that stands still. It lives in Paimon's package because the clock
 * is a package-private method there.
 */
public final class EarlyFullCompactionAt extends EarlyFullCompaction {
    private long now;

    /**
     * @param lastFull when the last full compaction was, or null if there was none since the start
     * @param now what the clock shows
     */
    public EarlyFullCompactionAt(
            Long interval, Long totalSizeThreshold, Long incrementalSizeThreshold, Long lastFull, long now) {
        super(interval, totalSizeThreshold, incrementalSizeThreshold);
        if (lastFull != null) {
            this.now = lastFull;
            updateLastFullCompaction();
        }
        this.now = now;
    }

    @Override
    long currentTimeMillis() {
        return now;
    }
}
