package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.protocol.Server;

import com.sun.management.OperatingSystemMXBean;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Spark with real Apache Iceberg behind JSON lines on standard input and output, for the tests of Lithify.
 * What configures Spark comes as system properties. Standard output belongs to the protocol alone.
 */
public final class Main {
    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Main() {}

    public static void main(String[] args) throws IOException {
        FileOutputStream replies = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        new Server(ops(), requests, replies).serve();
        System.exit(0);
    }

    private static Map<String, Op> ops() {
        Session session = new Session();
        Map<String, Op> ops = new HashMap<>();
        ops.put("ping", args -> "pong");
        session.register(ops);
        new PlanOps(session).register(ops);
        new DeltaOps(session).register(ops);
        new RewriteOps(session).register(ops);
        new SchemaOps(session).register(ops);
        new ExpiryOps(session).register(ops);
        ops.put("timed", args -> timed(ops, args.object("request")));
        return ops;
    }

    /** Runs another operation; processor time is that of the whole JVM, its compiler and collector included. */
    private static Object timed(Map<String, Op> ops, Args request) throws Exception {
        Op op = ops.get(request.text("op"));
        if (op == null) {
            throw new IllegalArgumentException("Unknown op '" + request.text("op") + "'");
        }
        long cpu = PROCESS.getProcessCpuTime();
        long began = System.nanoTime();
        Object result = op.run(request);
        long nanos = System.nanoTime() - began;
        return Json.object(
                "result", result, "nanos", nanos, "cpu_nanos", PROCESS.getProcessCpuTime() - cpu);
    }
}
