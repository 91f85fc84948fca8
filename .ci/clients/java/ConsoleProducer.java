import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Writes keys with the class behind kafka-console-producer.sh, which reads lines of text. So it leaves out the keys
 * that such a line cannot carry: those that are not UTF-8, and those that contain a tab or a line's end.
 * PARTITIONER: default.
 */
public final class ConsoleProducer {
    private static final String NULL = "<null>";

    private ConsoleProducer() {}

    public static void main(String[] args) throws Exception {
        if (!args[3].equals("default")) {
            throw new IllegalArgumentException("unknown partitioner " + args[3]);
        }
        List<byte[]> keys = Keys.read(args[2]);
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        for (int i = 0; i < keys.size(); i++) {
            byte[] key = keys.get(i);
            if (key == null) {
                key = NULL.getBytes(StandardCharsets.UTF_8);
            } else if (!isText(key)) {
                continue;
            }
            lines.write(key);
            lines.write(("\t" + i + "\n").getBytes(StandardCharsets.UTF_8));
        }
        System.setIn(new ByteArrayInputStream(lines.toByteArray()));
        org.apache.kafka.tools.ConsoleProducer.main(new String[] {
            "--bootstrap-server", args[0], "--topic", args[1], "--property", "parse.key=true",
            "--property", "key.separator=\t", "--property", "null.marker=" + NULL,
        });
    }

    private static boolean isText(byte[] key) {
        for (byte b : key) {
            if (b == '\t' || b == '\n' || b == '\r') {
                return false;
            }
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(key));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }
}
