package dev.lithify.oracle.table;

import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.fs.local.LocalFileIO;

import java.io.File;
import java.io.IOException;

/**
 * Local files that are read in blocks. Paimon looks for the first block of a manifest byte by byte, each of them a
 * call of the operating system: more than half of the time of a test. Benchmarks read files as Paimon does.
 */
final class BufferedFiles extends LocalFileIO {
    private static final long serialVersionUID = 1L;
    private static final String PROPERTY = "lithify.buffered";

    /** The files of a process: buffered if its property says so. */
    static LocalFileIO orAsPaimon() {
        return Boolean.getBoolean(PROPERTY) ? new BufferedFiles() : LocalFileIO.create();
    }

    @Override
    public SeekableInputStream newInputStream(Path path) throws IOException {
        return new Input(toFile(path));
    }

    private static final class Input extends LocalSeekableInputStream {
        private final byte[] block = new byte[8192];
        private long start;
        private int count;
        private long position;

        Input(File file) throws IOException {
            super(file);
        }

        @Override
        public void seek(long desired) {
            position = desired;
        }

        @Override
        public long getPos() {
            return position;
        }

        @Override
        public int read() throws IOException {
            return hasNext() ? block[(int) (position++ - start)] & 0xFF : -1;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (!hasNext()) {
                return -1;
            }
            int taken = (int) Math.min(length, start + count - position);
            System.arraycopy(block, (int) (position - start), bytes, offset, taken);
            position += taken;
            return taken;
        }

        private boolean hasNext() throws IOException {
            if (position < start || position >= start + count) {
                start = position;
                count = Math.max(0, pread(position, block, 0, block.length));
            }
            return count > 0;
        }
    }
}
