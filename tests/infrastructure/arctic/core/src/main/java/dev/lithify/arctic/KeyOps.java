package dev.lithify.arctic;

import dev.lithify.keyed.Schemas;
import dev.lithify.keyed.Values;
import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import com.fasterxml.jackson.databind.JsonNode;
import com.netease.arctic.data.DataTreeNode;
import com.netease.arctic.data.DefaultKeyedFile;
import com.netease.arctic.data.PrimaryKeyData;
import com.netease.arctic.data.file.FileNameGenerator;
import com.netease.arctic.table.PrimaryKeySpec;

import org.apache.iceberg.Schema;
import org.apache.iceberg.data.InternalRecordWrapper;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Arctic's pure functions: hashes of keys, nodes of the tree, and what names of files say. */
final class KeyOps {
    private KeyOps() {}

    static void register(Map<String, Op> ops) {
        ops.put("hash_keys", KeyOps::hashKeys);
        ops.put("parse_names", KeyOps::parseNames);
        ops.put("nodes", KeyOps::nodes);
        ops.put("related", KeyOps::related);
    }

    /** For each row of the key's columns its hash, and its node's id for a number of buckets. */
    private static Object hashKeys(Args args) {
        Schema schema = Schemas.schema(args);
        PrimaryKeySpec.Builder spec = PrimaryKeySpec.builderFor(schema);
        args.texts("key").forEach(spec::addColumn);
        PrimaryKeyData key = new PrimaryKeyData(spec.build(), schema);
        InternalRecordWrapper wrapper = new InternalRecordWrapper(schema.asStruct());
        long mask = args.number("buckets", 1) - 1;
        List<Object> hashes = new ArrayList<>();
        for (JsonNode row : args.nodes("rows")) {
            key.primaryKey(wrapper.wrap(Values.record(schema, elements(row))));
            hashes.add(List.of(key.hashCode(), key.treeNode(mask).getId()));
        }
        return hashes;
    }

    /** What a name says in the base store and, with a sequence number, in the change store. */
    private static Object parseNames(Args args) {
        long sequence = args.number("sequence");
        return args.texts("names").stream()
                .map(name -> Json.object(
                        "base", meta(FileNameGenerator.parseBase(name)),
                        "change", meta(FileNameGenerator.parseChange(name, sequence)),
                        "is_arctic", FileNameGenerator.isArcticFileFormat(name)))
                .toList();
    }

    private static Object nodes(Args args) {
        return args.nodes("ids").stream()
                .map(id -> DataTreeNode.ofId(id.longValue()))
                .map(node -> Json.object(
                        "mask", node.mask(),
                        "index", node.index(),
                        "left", node.left().getId(),
                        "right", node.right().getId(),
                        "parent", node.mask() == 0 ? null : node.parent().getId()))
                .toList();
    }

    /** Of each pair of ids, whether the first is the second or below it. */
    private static Object related(Args args) {
        return args.nodes("pairs").stream()
                .map(pair -> DataTreeNode.ofId(pair.get(0).longValue())
                        .isSonOf(DataTreeNode.ofId(pair.get(1).longValue())))
                .toList();
    }

    static List<JsonNode> elements(JsonNode array) {
        List<JsonNode> elements = new ArrayList<>();
        array.forEach(elements::add);
        return elements;
    }

    private static Object meta(DefaultKeyedFile.FileMeta meta) {
        return Json.object(
                "transaction_id", meta.transactionId(),
                "type", meta.type().shortName(),
                "node", meta.node().getId());
    }
}
