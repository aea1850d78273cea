package dev.lithify.oracle.protocol;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.RawValue;

import java.util.LinkedHashMap;
import java.util.Map;

/** The one JSON mapper of the process and the few shapes that results are made of. */
public final class Json {
    static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    /** Text that is JSON already and goes into the reply as it is. */
    public static RawValue raw(CharSequence json) {
        return new RawValue(json.toString());
    }

    public static JsonNode parse(String json) {
        try {
            return MAPPER.readTree(json);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("Not JSON: " + json, e);
        }
    }

    /** An object with its fields in the order they are given: name, value, name, value... */
    public static Map<String, Object> object(Object... namesAndValues) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            object.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return object;
    }
}
