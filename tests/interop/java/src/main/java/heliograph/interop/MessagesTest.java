package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.BytesMessage;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.MapMessage;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.ObjectMessage;
import jakarta.jms.Session;
import jakarta.jms.StreamMessage;
import jakarta.jms.TextMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MessagesTest extends Broker {
    private Message sent(Session session, Message message) throws JMSException {
        try (MessageProducer producer = session.createProducer(ownQueue(session));
                MessageConsumer consumer = session.createConsumer(ownQueue(session))) {
            producer.send(message);
            Message received = consumer.receive(PATIENCE);
            assertTrue(received != null, "no message came");
            return received;
        }
    }

    @Test
    void everyKindOfBodyArrivesAsItWas() throws Exception {
        Session session = session();
        assertEquals("Grüße ☀", text(sent(session, session.createTextMessage("Grüße ☀"))));
        assertNull(((TextMessage) sent(session, session.createTextMessage())).getText());
        BytesMessage bytes = session.createBytesMessage();
        bytes.writeBytes(new byte[] {0, 1, (byte) 255});
        bytes.writeDouble(0.5);
        BytesMessage bytesBack = (BytesMessage) sent(session, bytes);
        byte[] three = new byte[3];
        bytesBack.readBytes(three);
        assertArrayEquals(new byte[] {0, 1, (byte) 255}, three);
        assertEquals(0.5, bytesBack.readDouble());
        MapMessage map = session.createMapMessage();
        map.setInt("int", 1);
        map.setString("text", "x");
        map.setBytes("bytes", new byte[] {7});
        map.setChar("char", 'c');
        MapMessage mapBack = (MapMessage) sent(session, map);
        assertEquals(1, mapBack.getInt("int"));
        assertEquals("x", mapBack.getString("text"));
        assertArrayEquals(new byte[] {7}, mapBack.getBytes("bytes"));
        assertEquals('c', mapBack.getChar("char"));
        StreamMessage stream = session.createStreamMessage();
        stream.writeLong(Long.MAX_VALUE);
        stream.writeString("end");
        StreamMessage streamBack = (StreamMessage) sent(session, stream);
        assertEquals(Long.MAX_VALUE, streamBack.readLong());
        assertEquals("end", streamBack.readString());
        ObjectMessage object = session.createObjectMessage(new ArrayList<>(List.of(1, 2)));
        assertEquals(List.of(1, 2), ((ObjectMessage) sent(session, object)).getObject());
    }

    @Test
    void propertiesAndHeadersArriveAsTheyWere() throws Exception {
        Session session = session();
        TextMessage message = session.createTextMessage("a");
        message.setBooleanProperty("boolean", true);
        message.setByteProperty("byte", (byte) -1);
        message.setShortProperty("short", Short.MIN_VALUE);
        message.setIntProperty("int", Integer.MIN_VALUE);
        message.setLongProperty("long", Long.MIN_VALUE);
        message.setFloatProperty("float", 0.1f);
        message.setDoubleProperty("double", 0.1);
        message.setStringProperty("string", "Grüße");
        message.setJMSType("type");
        message.setJMSCorrelationID("correlation");
        message.setJMSReplyTo(session.createTopic("somewhere/else"));
        message.setStringProperty("JMSXGroupID", "group");
        message.setIntProperty("JMSXGroupSeq", 3);
        Message back = sent(session, message);
        assertTrue(back.getBooleanProperty("boolean"));
        assertEquals(-1, back.getByteProperty("byte"));
        assertEquals(Short.MIN_VALUE, back.getShortProperty("short"));
        assertEquals(Integer.MIN_VALUE, back.getIntProperty("int"));
        assertEquals(Long.MIN_VALUE, back.getLongProperty("long"));
        assertEquals(0.1f, back.getFloatProperty("float"));
        assertEquals(0.1, back.getDoubleProperty("double"));
        assertEquals("Grüße", back.getStringProperty("string"));
        assertEquals("type", back.getJMSType());
        assertEquals("correlation", back.getJMSCorrelationID());
        assertEquals(session.createTopic("somewhere/else"), back.getJMSReplyTo());
        assertEquals("group", back.getStringProperty("JMSXGroupID"));
        assertEquals(3, back.getIntProperty("JMSXGroupSeq"));
        assertEquals(message.getJMSMessageID(), back.getJMSMessageID());
        assertEquals(message.getJMSTimestamp(), back.getJMSTimestamp());
        assertEquals(ownQueue(session), back.getJMSDestination());
        assertEquals(DeliveryMode.PERSISTENT, back.getJMSDeliveryMode());
        assertFalse(back.getJMSRedelivered());
    }

    @Test
    void nonPersistentMessagesSayThatTheyAre() throws Exception {
        Session session = session();
        MessageProducer producer = session.createProducer(ownQueue(session));
        producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
        producer.setDisableMessageID(true);
        producer.setDisableMessageTimestamp(true);
        producer.send(session.createTextMessage("a"));
        Message back = next(session.createConsumer(ownQueue(session)));
        assertEquals(DeliveryMode.NON_PERSISTENT, back.getJMSDeliveryMode());
        assertNull(back.getJMSMessageID());
        assertEquals(0, back.getJMSTimestamp());
    }

    @Test
    void higherPrioritiesComeFirst() throws Exception {
        Session session = session();
        MessageProducer producer = session.createProducer(ownQueue(session));
        for (int priority : new int[] {4, 0, 9, 4, 7}) {
            producer.setPriority(priority);
            producer.send(session.createTextMessage("p" + priority));
        }
        assertEquals(List.of("p9", "p7", "p4", "p4", "p0"), drain());
    }

    @Test
    void expiredMessagesAreNotDelivered() throws Exception {
        Session session = session();
        MessageProducer producer = session.createProducer(ownQueue(session));
        producer.setTimeToLive(1);
        producer.send(session.createTextMessage("short-lived"));
        producer.setTimeToLive(PATIENCE * 10);
        producer.send(session.createTextMessage("long-lived"));
        Thread.sleep(20); // what is tested is that this time is over
        Message message = next(session.createConsumer(ownQueue(session)));
        assertEquals("long-lived", text(message));
        assertTrue(message.getJMSExpiration() > System.currentTimeMillis());
    }

    @Test
    void delayedMessagesComeLater() throws Exception {
        Session session = session();
        MessageProducer producer = session.createProducer(ownQueue(session));
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        producer.setDeliveryDelay(500);
        long before = System.currentTimeMillis();
        producer.send(session.createTextMessage("later"));
        producer.setDeliveryDelay(0);
        producer.send(session.createTextMessage("now"));
        assertEquals("now", next(consumer).getText());
        Message later = next(consumer);
        assertEquals("later", text(later));
        assertTrue(System.currentTimeMillis() - before >= 500);
        assertTrue(later.getJMSDeliveryTime() >= before + 500);
    }

    @Test
    void largeMessagesArriveWhole() throws Exception {
        byte[] content = new byte[3_500_000];
        new Random(1).nextBytes(content);
        Session session = session();
        BytesMessage message = session.createBytesMessage();
        message.writeBytes(content);
        BytesMessage back = (BytesMessage) sent(session, message);
        byte[] received = new byte[content.length];
        assertEquals(content.length, back.getBodyLength());
        back.readBytes(received);
        assertArrayEquals(content, received);
    }

    @Test
    void tooLargeMessagesAreRefusedAndTheConnectionGoesOn() throws Exception {
        Session session = session();
        BytesMessage message = session.createBytesMessage();
        message.writeBytes(new byte[5_000_000]);
        MessageProducer producer = session.createProducer(ownQueue(session));
        assertThrows(JMSException.class, () -> producer.send(message));
        assertEquals("still there", text(sent(session, session.createTextMessage("still there"))));
    }
}
