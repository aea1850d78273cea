package dev.lithify.oracle.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeType;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A JSON object as the arguments of an operation: typed access that names the field when it is missing or of
 * the wrong type. A field that is absent and a field that is null are the same.
 */
public final class Args {
    private final String owner;
    private final JsonNode object;

    public Args(String owner, JsonNode object) {
        this.owner = owner;
        this.object = object;
        if (!object.isObject()) {
            throw new IllegalArgumentException(owner + ": expected an object, got " + object);
        }
    }

    public static Args of(String owner, Map<String, ?> fields) {
        return new Args(owner, Json.MAPPER.valueToTree(fields));
    }

    public boolean has(String name) {
        return object.hasNonNull(name);
    }

    public Optional<JsonNode> find(String name) {
        return Optional.ofNullable(object.get(name)).filter(node -> !node.isNull());
    }

    public JsonNode node(String name) {
        return find(name)
                .orElseThrow(() -> new IllegalArgumentException(owner + ": '" + name + "' is missing"));
    }

    public String text(String name) {
        return typed(name, node(name), JsonNodeType.STRING).textValue();
    }

    public Optional<String> findText(String name) {
        return find(name).map(node -> typed(name, node, JsonNodeType.STRING).textValue());
    }

    public int integer(String name) {
        return Math.toIntExact(number(name));
    }

    public int integer(String name, int otherwise) {
        return Math.toIntExact(number(name, otherwise));
    }

    public long number(String name) {
        JsonNode node = typed(name, node(name), JsonNodeType.NUMBER);
        if (!node.isIntegralNumber() || !node.canConvertToLong()) {
            throw wrong(name, "a 64-bit integer", node);
        }
        return node.longValue();
    }

    public long number(String name, long otherwise) {
        return has(name) ? number(name) : otherwise;
    }

    public Optional<Long> findNumber(String name) {
        return has(name) ? Optional.of(number(name)) : Optional.empty();
    }

    public double fraction(String name, double otherwise) {
        return has(name) ? typed(name, node(name), JsonNodeType.NUMBER).doubleValue() : otherwise;
    }

    public boolean flag(String name, boolean otherwise) {
        return has(name) ? typed(name, node(name), JsonNodeType.BOOLEAN).booleanValue() : otherwise;
    }

    /** The elements of an array; none when the field is absent. */
    public List<JsonNode> nodes(String name) {
        List<JsonNode> nodes = new ArrayList<>();
        find(name).map(node -> typed(name, node, JsonNodeType.ARRAY)).ifPresent(a -> a.forEach(nodes::add));
        return nodes;
    }

    public List<String> texts(String name) {
        return nodes(name).stream().map(n -> typed(name, n, JsonNodeType.STRING).textValue()).toList();
    }

    public List<Args> objects(String name) {
        return nodes(name).stream().map(node -> new Args(owner + "." + name, node)).toList();
    }

    public Args object(String name) {
        return new Args(owner + "." + name, node(name));
    }

    /** An object inside, or an empty one when the field is absent. */
    public Args objectOrEmpty(String name) {
        return new Args(owner + "." + name, find(name).orElseGet(Json.MAPPER::createObjectNode));
    }

    /** An object of strings; none when the field is absent. */
    public Map<String, String> textMap(String name) {
        Map<String, String> map = new LinkedHashMap<>();
        find(name).map(node -> typed(name, node, JsonNodeType.OBJECT)).ifPresent(node -> node.properties()
                .forEach(e ->
                        map.put(e.getKey(), typed(name, e.getValue(), JsonNodeType.STRING).textValue())));
        return map;
    }

    /** All fields of this object in their order. */
    public Map<String, JsonNode> fields() {
        Map<String, JsonNode> fields = new LinkedHashMap<>();
        object.properties().forEach(e -> fields.put(e.getKey(), e.getValue()));
        return fields;
    }

    public IllegalArgumentException wrong(String name, String expected, Object actual) {
        return new IllegalArgumentException(
                owner + ": '" + name + "' should be " + expected + ", got " + actual);
    }

    private JsonNode typed(String name, JsonNode node, JsonNodeType type) {
        if (node.getNodeType() != type) {
            throw wrong(name, "a JSON " + type.name().toLowerCase(), node);
        }
        return node;
    }
}
