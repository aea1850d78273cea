package dev.lithify.arctic;

import com.netease.arctic.data.DataTreeNode;
import com.netease.arctic.data.DefaultKeyedFile;
import com.netease.arctic.data.PrimaryKeyedFile;
import com.netease.arctic.scan.ArcticFileScanTask;
import com.netease.arctic.scan.BasicArcticFileScanTask;
import com.netease.arctic.scan.NodeFileScanTask;

import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/**
 * The files of one task of the optimizer: of one partition, in a node of the tree and below it.
 *
 * @param node the root of the subtree
 * @param base base files
 * @param inserts insert files of the change store that are not in base yet
 * @param deletes delete files of the change store that are not in base yet
 * @param positions position deletes of the base files
 */
record Subtree(
        StructLike partition,
        DataTreeNode node,
        List<DataFile> base,
        List<PrimaryKeyedFile> inserts,
        List<PrimaryKeyedFile> deletes,
        Collection<DeleteFile> positions) {

    boolean hasChanges() {
        return !inserts.isEmpty() || !deletes.isEmpty();
    }

    List<PrimaryKeyedFile> data() {
        List<PrimaryKeyedFile> data = new ArrayList<>();
        base.forEach(file -> data.add(DefaultKeyedFile.parseBase(file)));
        data.addAll(inserts);
        return data;
    }

    static long newest(Collection<PrimaryKeyedFile> files) {
        return files.stream().mapToLong(PrimaryKeyedFile::transactionId).max().orElse(0);
    }

    /** What Arctic's reader reads: some of the data files, all delete rows, and the deletes of their positions. */
    NodeFileScanTask task(PartitionSpec spec, Predicate<PrimaryKeyedFile> data) {
        List<ArcticFileScanTask> tasks = new ArrayList<>();
        data().stream().filter(data).forEach(file ->
                tasks.add(new BasicArcticFileScanTask(file, List.copyOf(positions), spec)));
        deletes.forEach(file -> tasks.add(new BasicArcticFileScanTask(file, null, spec)));
        return new NodeFileScanTask(tasks);
    }
}
