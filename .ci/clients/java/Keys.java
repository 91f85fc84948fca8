import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Reads the keys that every client writes. */
final class Keys {
    private Keys() {}

    /** Returns the keys of an ndjson file by index; null is the null key. */
    static List<byte[]> read(String file) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<byte[]> keys = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(file))) {
            JsonNode hex = json.readTree(line).get("hex");
            keys.add(hex.isNull() ? null : HexFormat.of().parseHex(hex.asText()));
        }
        return keys;
    }
}
