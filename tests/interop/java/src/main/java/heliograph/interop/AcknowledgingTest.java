package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.Connection;
import jakarta.jms.MessageConsumer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AcknowledgingTest extends Broker {
    // Modes that Qpid JMS has beyond those of JMS, by their numbers in its documentation.
    private static final int INDIVIDUAL_ACKNOWLEDGE = 101;

    private static final int NO_ACKNOWLEDGE = 257;

    @Test
    void autoAcknowledgedMessagesAreGone() throws Exception {
        send("a", "b");
        assertEquals(List.of("a", "b"), drain());
        assertEquals(List.of(), drain());
    }

    @Test
    void clientAcknowledgeCountsForAllBefore() throws Exception {
        send("a", "b", "c");
        Connection connection = connection();
        Session session = connection.createSession(Session.CLIENT_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        next(consumer);
        next(consumer).acknowledge();
        next(consumer);
        connection.close();
        assertEquals(List.of("c"), drain());
    }

    @Test
    void whatWasNotAcknowledgedComesAgainAndSaysSo() throws Exception {
        send("a");
        Connection connection = connection();
        Session session = connection.createSession(Session.CLIENT_ACKNOWLEDGE);
        TextMessage first = next(session.createConsumer(ownQueue(session)));
        assertFalse(first.getJMSRedelivered());
        assertEquals(1, first.getIntProperty("JMSXDeliveryCount"));
        connection.close();
        Session again = session();
        TextMessage second = next(again.createConsumer(ownQueue(again)));
        assertTrue(second.getJMSRedelivered());
        assertEquals(2, second.getIntProperty("JMSXDeliveryCount"));
    }

    @Test
    void recoverDeliversInOrderAgain() throws Exception {
        send("a", "b", "c");
        Session session = session(Session.CLIENT_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        assertEquals("a", next(consumer).getText());
        assertEquals("b", next(consumer).getText());
        session.recover();
        assertEquals("a", next(consumer).getText());
        assertEquals("b", next(consumer).getText());
        TextMessage last = next(consumer);
        assertEquals("c", last.getText());
        last.acknowledge();
        session.close();
        assertEquals(List.of(), drain());
    }

    @Test
    void duplicatesOkAcknowledgesInTheEnd() throws Exception {
        send("a", "b");
        Session session = session(Session.DUPS_OK_ACKNOWLEDGE);
        try (MessageConsumer consumer = session.createConsumer(ownQueue(session))) {
            assertEquals(List.of("a", "b"), texts(consumer));
        }
        session.close();
        assertEquals(List.of(), drain());
    }

    @Test
    void individualAcknowledgeCountsForOneMessage() throws Exception {
        send("a", "b", "c");
        Connection connection = connection();
        Session session = connection.createSession(INDIVIDUAL_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        next(consumer);
        next(consumer).acknowledge();
        next(consumer);
        connection.close();
        assertEquals(List.of("a", "c"), drain());
    }

    @Test
    void noAcknowledgeSettlesWithTheDelivery() throws Exception {
        send("a", "b");
        Connection connection = connection(null, "jms.prefetchPolicy.all=1");
        Session session = connection.createSession(NO_ACKNOWLEDGE);
        assertEquals("a", next(session.createConsumer(ownQueue(session))).getText());
        connection.close();
        assertFalse(drain().contains("a"));
    }

    @Test
    void aListenerThatFailsGetsItsMessageAgain() throws Exception {
        Session session = session();
        AtomicInteger attempts = new AtomicInteger();
        LinkedBlockingQueue<Integer> done = new LinkedBlockingQueue<>();
        session.createConsumer(ownQueue(session))
                .setMessageListener(
                        message -> {
                            if (attempts.incrementAndGet() < 3) {
                                throw new IllegalStateException("the first attempts fail on purpose");
                            }
                            done.add(attempts.get());
                        });
        send("a");
        assertEquals(3, done.poll(PATIENCE, TimeUnit.MILLISECONDS));
        assertNull(done.poll(SHORT, TimeUnit.MILLISECONDS));
    }

    @Test
    void closingGivesBackWhatWasPrefetchedWithoutCountingIt() throws Exception {
        send("a", "b");
        Connection connection = connection();
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        assertEquals("a", next(consumer).getText());
        connection.close();
        Session again = session();
        TextMessage second = next(again.createConsumer(ownQueue(again)));
        assertEquals("b", second.getText());
        assertFalse(second.getJMSRedelivered());
    }
}
