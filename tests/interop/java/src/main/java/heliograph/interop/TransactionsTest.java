package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.Connection;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import jakarta.jms.Topic;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TransactionsTest extends Broker {
    @Test
    void whatIsSentIsSeenAfterTheCommit() throws Exception {
        Session session = session(Session.SESSION_TRANSACTED);
        MessageProducer producer = session.createProducer(ownQueue(session));
        producer.send(session.createTextMessage("a"));
        assertEquals(List.of(), drain());
        session.commit();
        assertEquals(List.of("a"), drain());
    }

    @Test
    void whatIsRolledBackWasNeverSent() throws Exception {
        Session session = session(Session.SESSION_TRANSACTED);
        MessageProducer producer = session.createProducer(ownQueue(session));
        producer.send(session.createTextMessage("never"));
        session.rollback();
        producer.send(session.createTextMessage("a"));
        session.commit();
        assertEquals(List.of("a"), drain());
    }

    @Test
    void rolledBackMessagesComeAgainInOrderWithACount() throws Exception {
        send("a", "b", "c");
        Session session = session(Session.SESSION_TRANSACTED);
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        for (int delivery = 1; delivery <= 3; delivery++) {
            for (String text : List.of("a", "b", "c")) {
                TextMessage message = next(consumer);
                assertEquals(text, message.getText());
                assertEquals(delivery, message.getIntProperty("JMSXDeliveryCount"));
                assertEquals(delivery > 1, message.getJMSRedelivered());
            }
            session.rollback();
        }
        assertEquals("a", next(consumer).getText());
        session.commit();
        session.close();
        assertEquals(List.of("b", "c"), drain());
    }

    @Test
    void aClosedSessionRollsBack() throws Exception {
        send("a");
        Session session = session(Session.SESSION_TRANSACTED);
        session.createProducer(ownQueue(session)).send(session.createTextMessage("never"));
        assertEquals("a", next(session.createConsumer(ownQueue(session))).getText());
        session.close();
        assertEquals(List.of("a"), drain());
    }

    @Test
    void aMessageMovesAsOneUnit() throws Exception {
        send("a", "b");
        Session session = session(Session.SESSION_TRANSACTED);
        Topic topic = session.createTopic(queue + "/moved");
        MessageConsumer moved = session.createConsumer(topic);
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        MessageProducer producer = session.createProducer(topic);
        producer.send(next(consumer));
        session.rollback();
        for (int n = 0; n < 2; n++) {
            producer.send(next(consumer));
            session.commit();
        }
        assertEquals("a", next(moved).getText());
        assertEquals("b", next(moved).getText());
        session.commit();
        assertEquals(List.of(), drain());
    }

    @Test
    void aThousandMessagesAreOneUnit() throws Exception {
        Session session = session(Session.SESSION_TRANSACTED);
        MessageProducer producer = session.createProducer(ownQueue(session));
        List<String> sent = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            sent.add("number " + n);
            producer.send(session.createTextMessage("number " + n));
        }
        session.commit();
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        List<String> received = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            received.add(next(consumer).getText());
        }
        session.commit();
        assertEquals(sent, received);
    }

    @Test
    void manySmallCommitsOneAfterTheOther() throws Exception {
        Connection connection = connection();
        Session session = connection.createSession(Session.SESSION_TRANSACTED);
        MessageProducer producer = session.createProducer(ownQueue(session));
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        for (int n = 0; n < 100; n++) {
            producer.send(session.createTextMessage("n" + n));
            session.commit();
            Message message = next(consumer);
            assertEquals("n" + n, text(message));
            session.commit();
        }
        assertTrue(drain().isEmpty());
    }
}
