package tour;

import java.util.Map;
import java.util.Set;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.enhanced.dynamodb.extensions.annotations.DynamoDbVersionAttribute;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbBean;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSecondaryPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSecondarySortKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSortKey;

/** An item with a version, which the enhanced client checks on every write. */
@DynamoDbBean
public class Record {
    private String pk;
    private Integer sk;
    private String kind;
    private String text;
    private SdkBytes bytes;
    private Set<String> tags;
    private Map<String, Integer> inner;
    private Integer version;

    public static Record of(String pk, int sk, String kind) {
        Record record = new Record();
        record.pk = pk;
        record.sk = sk;
        record.kind = kind;
        return record;
    }

    @DynamoDbPartitionKey
    public String getPk() { return pk; }
    public void setPk(String value) { pk = value; }

    @DynamoDbSortKey
    @DynamoDbSecondarySortKey(indexNames = "by-kind")
    public Integer getSk() { return sk; }
    public void setSk(Integer value) { sk = value; }

    @DynamoDbSecondaryPartitionKey(indexNames = "by-kind")
    public String getKind() { return kind; }
    public void setKind(String value) { kind = value; }

    public String getText() { return text; }
    public void setText(String value) { text = value; }

    public SdkBytes getBytes() { return bytes; }
    public void setBytes(SdkBytes value) { bytes = value; }

    public Set<String> getTags() { return tags; }
    public void setTags(Set<String> value) { tags = value; }

    public Map<String, Integer> getInner() { return inner; }
    public void setInner(Map<String, Integer> value) { inner = value; }

    @DynamoDbVersionAttribute
    public Integer getVersion() { return version; }
    public void setVersion(Integer value) { version = value; }
}
