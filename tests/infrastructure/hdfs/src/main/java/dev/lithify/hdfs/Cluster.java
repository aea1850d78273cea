package dev.lithify.hdfs;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;

/**
 * A cluster with two data nodes and one or two name nodes. Arguments: its folder, {@code simple} or the protection of
 * Hadoop's with Kerberos, and the ports of the name nodes.
 *
 * <p>Writes a line when it is ready, and one for each command that it has read from a line of standard input and
 * carried out: {@code fail-over}, {@code safe-mode}, {@code leave-safe-mode}.
 */
public final class Cluster {
    private Cluster() {}

    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.setInt("dfs.replication", 2);
        conf.set("dfs.namenode.fs-limits.min-block-size", "0");
        conf.setInt("dfs.ha.tail-edits.period", 1);
        // Otherwise closing a file takes half a second, until a data node has reported its block. Needs two of them.
        conf.setInt("dfs.namenode.file.close.num-committed-allowed", 1);
        if (!args[1].equals("simple")) {
            Kerberos.start(conf, new File(args[0], "kerberos"), args[1]);
        }
        MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(conf, new File(args[0], "dfs")).numDataNodes(2);
        boolean isAvailable = args.length > 3;
        if (isAvailable) {
            builder.nnTopology(new MiniDFSNNTopology()
                    .addNameservice(new MiniDFSNNTopology.NSConf("tests")
                            .addNN(new MiniDFSNNTopology.NNConf("nn0").setIpcPort(Integer.parseInt(args[2])))
                            .addNN(new MiniDFSNNTopology.NNConf("nn1").setIpcPort(Integer.parseInt(args[3])))));
        } else {
            builder.nameNodePort(Integer.parseInt(args[2]));
        }
        MiniDFSCluster cluster = builder.build();
        if (isAvailable) {
            cluster.transitionToActive(0);
        }
        cluster.waitActive();
        open(cluster);
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            carryOut(command, cluster);
            System.out.println("done");
        }
    }

    private static void carryOut(String command, MiniDFSCluster cluster) throws Exception {
        switch (command) {
            case "fail-over" -> {
                int active = cluster.getNamesystem(0).isInStandbyState() ? 1 : 0;
                cluster.transitionToStandby(active);
                cluster.transitionToActive(1 - active);
            }
            case "safe-mode" -> cluster.getFileSystem(0).setSafeMode(SafeModeAction.SAFEMODE_ENTER);
            case "leave-safe-mode" -> cluster.getFileSystem(0).setSafeMode(SafeModeAction.SAFEMODE_LEAVE);
            default -> throw new IllegalArgumentException(command);
        }
    }

    /** Whoever a test names may write to the root, and nobody but the superuser below {@code /closed}. */
    private static void open(MiniDFSCluster cluster) throws Exception {
        cluster.getFileSystem(0).setPermission(new Path("/"), new FsPermission((short) 0777));
        cluster.getFileSystem(0).mkdirs(new Path("/closed"), new FsPermission((short) 0700));
    }
}
