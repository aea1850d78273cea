package dev.lithify.oracle.planner;

import dev.lithify.oracle.protocol.Args;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.BucketedDvMaintainer;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.DeletionVectorsIndexFile;
import org.apache.paimon.index.IndexFileHandler;

import java.util.HashMap;
import java.util.Map;

/** A real maintainer of deletion vectors over files that do not exist, for {@code "deletion_vectors": [names]}. */
final class DeletedRows {
    private DeletedRows() {}

    /** Null when the request has no such field: the table is one without deletion vectors. */
    static BucketedDvMaintainer of(Args options) {
        if (!options.has("deletion_vectors")) {
            return null;
        }
        Map<String, DeletionVector> vectors = new HashMap<>();
        for (String name : options.texts("deletion_vectors")) {
            DeletionVector vector = new BitmapDeletionVector();
            vector.delete(0);
            vectors.put(name, vector);
        }
        return BucketedDvMaintainer.factory(new NoFiles()).create(BinaryRow.EMPTY_ROW, 0, vectors);
    }

    /** Reads and writes nothing, as planning never does. */
    private static final class NoFiles extends IndexFileHandler {
        NoFiles() {
            super(null, null, null, null, null, false);
        }

        @Override
        public DeletionVectorsIndexFile dvIndex(BinaryRow partition, int bucket) {
            return new DeletionVectorsIndexFile(null, null, null, false);
        }
    }
}
