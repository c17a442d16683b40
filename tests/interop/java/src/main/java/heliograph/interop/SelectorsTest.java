package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jakarta.jms.InvalidSelectorException;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SelectorsTest extends Broker {
    private void sendLetters() throws Exception {
        Session session = session();
        MessageProducer producer = session.createProducer(ownQueue(session));
        int priority = 0;
        for (String name : List.of("Ada", "Bob", "Cid_1")) {
            TextMessage message = session.createTextMessage(name);
            message.setStringProperty("name", name);
            message.setIntProperty("length", name.length());
            message.setDoubleProperty("half", name.length() / 2.0);
            message.setBooleanProperty("first", name.equals("Ada"));
            if (name.equals("Bob")) {
                message.setStringProperty("only", "Bob");
            }
            message.setJMSType("letter " + name);
            message.setJMSCorrelationID("correlation " + name);
            producer.send(message, producer.getDeliveryMode(), priority++, 0);
        }
        session.close();
    }

    @Test
    void conditionsChooseMessages() throws Exception {
        Map<String, List<String>> chosen = new LinkedHashMap<>();
        chosen.put("name = 'Ada'", List.of("Ada"));
        chosen.put("name <> 'Ada' AND length < 5", List.of("Bob"));
        chosen.put("length BETWEEN 4 AND 6", List.of("Cid_1"));
        chosen.put("length * 2 + 1 = 7 AND NOT first", List.of("Bob"));
        chosen.put("half > 2.4", List.of("Cid_1"));
        chosen.put("name LIKE '_o%'", List.of("Bob"));
        chosen.put("name LIKE 'Cid!_%' ESCAPE '!'", List.of("Cid_1"));
        chosen.put("name IN ('Ada', 'Zoe')", List.of("Ada"));
        chosen.put("only IS NOT NULL", List.of("Bob"));
        chosen.put("only IS NULL AND first = FALSE", List.of("Cid_1"));
        chosen.put("JMSPriority = 2", List.of("Cid_1"));
        chosen.put("JMSType = 'letter Bob'", List.of("Bob"));
        chosen.put("JMSCorrelationID = 'correlation Ada'", List.of("Ada"));
        for (Map.Entry<String, List<String>> one : chosen.entrySet()) {
            sendLetters();
            Session session = session();
            try (MessageConsumer consumer = session.createConsumer(ownQueue(session), one.getKey())) {
                assertEquals(one.getValue(), texts(consumer), one.getKey());
            }
            drain();
        }
    }

    @Test
    void aSelectorOnATopic() throws Exception {
        Session session = session();
        var topic = session.createTopic(queue + "/chosen");
        MessageConsumer consumer = session.createConsumer(topic, "n > 1");
        MessageProducer producer = session.createProducer(topic);
        for (int n = 0; n < 4; n++) {
            TextMessage message = session.createTextMessage("n" + n);
            message.setIntProperty("n", n);
            producer.send(message);
        }
        assertEquals(List.of("n2", "n3"), texts(consumer));
    }

    @Test
    void aBadSelectorIsRefused() throws Exception {
        Session session = session();
        for (String bad : List.of("name =", "= 1", "name LIKE 5", "(((")) {
            assertThrows(
                    InvalidSelectorException.class, () -> session.createConsumer(ownQueue(session), bad), bad);
        }
    }
}
