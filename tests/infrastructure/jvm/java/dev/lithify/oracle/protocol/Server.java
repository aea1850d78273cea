package dev.lithify.oracle.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;
import java.util.TreeMap;

/**
 * Answers one line with one line until the input ends. A request that fails is answered with the failure;
 * whatever an operation throws, the process lives on.
 */
public final class Server {
    private final Map<String, Op> ops;
    private final BufferedReader requests;
    private final OutputStream replies;

    public Server(Map<String, Op> ops, BufferedReader requests, OutputStream replies) {
        this.ops = new TreeMap<>(ops);
        this.requests = requests;
        this.replies = replies;
    }

    public void serve() throws IOException {
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            byte[] reply = answer(line);
            replies.write(reply);
            replies.write('\n');
            replies.flush();
        }
    }

    private byte[] answer(String line) throws IOException {
        JsonNode id = NullNode.instance;
        try {
            JsonNode request = Json.parse(line);
            id = request.path("id");
            String name = request.path("op").asText();
            Op op = ops.get(name);
            if (op == null) {
                throw new IllegalArgumentException("Unknown op '" + name + "', there are: " + ops.keySet());
            }
            Object result = op.run(new Args(name, request));
            return Json.MAPPER.writeValueAsBytes(Json.object("id", id, "ok", true, "result", result));
        } catch (Throwable failure) {
            return Json.MAPPER.writeValueAsBytes(failed(id, failure));
        }
    }

    private static Map<String, Object> failed(JsonNode id, Throwable failure) {
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        return Json.object(
                "id", id,
                "ok", false,
                "error", String.valueOf(failure.getMessage()),
                "type", failure.getClass().getName(),
                "trace", trace.toString());
    }
}
