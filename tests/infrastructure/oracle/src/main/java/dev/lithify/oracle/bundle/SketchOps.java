package dev.lithify.oracle.bundle;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.mergetree.compact.aggregate.FieldAggregator;
import org.apache.paimon.mergetree.compact.aggregate.factory.FieldAggregatorFactory;
import org.apache.paimon.types.DataTypes;
import com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.org.apache.datasketches.hll.HllSketch;
import org.apache.paimon.shade.org.apache.datasketches.hll.TgtHllType;
import org.apache.paimon.shade.org.apache.datasketches.theta.UpdateSketch;
import org.apache.paimon.shade.org.roaringbitmap.RoaringBitmap;
import org.apache.paimon.shade.org.roaringbitmap.longlong.Roaring64Bitmap;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Serialized bitmaps and sketches as users' jobs write them, and what Paimon's aggregate functions make of them. */
public final class SketchOps {
    private SketchOps() {}

    public static void register(Map<String, Op> ops) {
        ops.put("sketches", args -> args.objects("sketches").stream().map(SketchOps::sketch).toList());
        ops.put("aggregate", SketchOps::aggregate);
    }

    private static String sketch(Args args) {
        String function = args.text("function");
        String form = args.findText("form").orElse("usual");
        List<Long> values = args.nodes("values").stream().map(JsonNode::longValue).toList();
        List<long[]> ranges = args.nodes("ranges").stream()
                .map(range -> new long[] {range.get(0).longValue(), range.get(1).longValue()})
                .toList();
        byte[] bytes = switch (function) {
            case "rbm32" -> bitmap(values, ranges, form);
            case "rbm64" -> longBitmap(values, ranges, form);
            case "theta_sketch" -> theta(values, ranges, form, args);
            case "hll_sketch" -> hll(values, ranges, form, args);
            default -> throw args.wrong("function", "a function of sketches", function);
        };
        return Base64.getEncoder().encodeToString(bytes);
    }

    private static byte[] bitmap(List<Long> values, List<long[]> ranges, String form) {
        RoaringBitmap bitmap = new RoaringBitmap();
        ranges.forEach(range -> bitmap.add(range[0], range[1]));
        if (form.equals("early")) {
            bitmap.runOptimize();
        }
        values.forEach(value -> bitmap.add(value.intValue()));
        if (form.equals("usual")) {
            bitmap.runOptimize();
        }
        return written(bitmap::serialize);
    }

    private static byte[] longBitmap(List<Long> values, List<long[]> ranges, String form) {
        Roaring64Bitmap bitmap = new Roaring64Bitmap();
        ranges.forEach(range -> bitmap.addRange(range[0], range[1]));
        if (form.equals("early")) {
            bitmap.runOptimize();
        }
        values.forEach(bitmap::addLong);
        if (form.equals("shrunk")) {
            values.subList(0, values.size() * 3 / 4).forEach(bitmap::removeLong);
        }
        if (form.equals("usual")) {
            bitmap.runOptimize();
        }
        return written(bitmap::serialize);
    }

    private static byte[] theta(List<Long> values, List<long[]> ranges, String form, Args args) {
        UpdateSketch sketch = UpdateSketch.builder()
                .setNominalEntries(args.integer("nominal", 4096))
                .setP((float) args.fraction("p", 1.0))
                .setSeed(args.number("seed", 9001))
                .build();
        ranges.forEach(range -> {
            for (long value = range[0]; value < range[1]; value++) {
                sketch.update(value);
            }
        });
        values.forEach(sketch::update);
        return switch (form) {
            case "updatable" -> sketch.toByteArray();
            case "unordered" -> sketch.compact(false, null).toByteArray();
            case "compressed" -> sketch.compact().toByteArrayCompressed();
            default -> sketch.compact().toByteArray();
        };
    }

    private static byte[] hll(List<Long> values, List<long[]> ranges, String form, Args args) {
        TgtHllType type = TgtHllType.valueOf(args.findText("type").orElse("HLL_4"));
        HllSketch sketch = new HllSketch(args.integer("lg_k", 12), type);
        ranges.forEach(range -> {
            for (long value = range[0]; value < range[1]; value++) {
                sketch.update(value);
            }
        });
        values.forEach(sketch::update);
        return form.equals("updatable") ? sketch.toUpdatableByteArray() : sketch.toCompactByteArray();
    }

    /** The accumulator after each value. A value in `reversed` is one that comes late in a sequence group. */
    private static Object aggregate(Args args) {
        FieldAggregator function = FieldAggregatorFactory.create(
                DataTypes.BYTES(), "v", args.text("function"), CoreOptions.fromMap(new HashMap<>()));
        List<Integer> reversed = args.nodes("reversed").stream().map(JsonNode::intValue).toList();
        List<JsonNode> values = args.nodes("values");
        Object accumulator = null;
        for (int i = 0; i < values.size(); i++) {
            JsonNode text = values.get(i);
            byte[] value = text.isNull() ? null : Base64.getDecoder().decode(text.textValue());
            accumulator = reversed.contains(i)
                    ? function.aggReversed(accumulator, value)
                    : function.agg(accumulator, value);
        }
        return accumulator == null ? null : Base64.getEncoder().encodeToString((byte[]) accumulator);
    }

    private interface Serializer {
        void write(DataOutputStream out) throws IOException;
    }

    private static byte[] written(Serializer serializer) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            serializer.write(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return bytes.toByteArray();
    }
}
