package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jakarta.jms.Connection;
import jakarta.jms.InvalidDestinationException;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.QueueBrowser;
import jakarta.jms.QueueConnection;
import jakarta.jms.QueueRequestor;
import jakarta.jms.QueueSession;
import jakarta.jms.Session;
import jakarta.jms.TemporaryQueue;
import jakarta.jms.TemporaryTopic;
import jakarta.jms.TextMessage;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.junit.jupiter.api.Test;

class DestinationsTest extends Broker {
    @Test
    void aTemporaryQueueGoesWithItsConnection() throws Exception {
        Connection mine = connection();
        Session session = mine.createSession();
        TemporaryQueue temporary = session.createTemporaryQueue();
        Session other = session();
        MessageProducer producer = other.createProducer(temporary);
        producer.send(other.createTextMessage("hello"));
        assertEquals("hello", next(session.createConsumer(temporary)).getText());
        mine.close();
        Session later = session();
        assertThrows(
                JMSException.class,
                () -> later.createProducer(temporary).send(later.createTextMessage("nobody")));
    }

    @Test
    void aTemporaryQueueThatWasDeletedIsGone() throws Exception {
        Session session = session();
        TemporaryQueue temporary = session.createTemporaryQueue();
        temporary.delete();
        assertThrows(JMSException.class, () -> session.createConsumer(temporary));
    }

    @Test
    void aTemporaryTopic() throws Exception {
        Session session = session();
        TemporaryTopic temporary = session.createTemporaryTopic();
        MessageConsumer consumer = session.createConsumer(temporary);
        Session other = session();
        other.createProducer(temporary).send(other.createTextMessage("psst"));
        assertEquals("psst", next(consumer).getText());
    }

    @Test
    void aRequestIsAnswered() throws Exception {
        Session answering = session();
        MessageProducer answers = answering.createProducer(null);
        answering
                .createConsumer(ownQueue(answering))
                .setMessageListener(request -> answer(answering, answers, request));
        Session session = session();
        TemporaryQueue replies = session.createTemporaryQueue();
        MessageConsumer consumer = session.createConsumer(replies);
        MessageProducer producer = session.createProducer(ownQueue(session));
        for (int n = 0; n < 50; n++) {
            TextMessage request = session.createTextMessage("question " + n);
            request.setJMSReplyTo(replies);
            producer.send(request);
            TextMessage reply = next(consumer);
            assertEquals("answer to question " + n, reply.getText());
            assertEquals(request.getJMSMessageID(), reply.getJMSCorrelationID());
        }
    }

    @Test
    void aQueueRequestorGetsItsAnswer() throws Exception {
        Session answering = session();
        MessageProducer answers = answering.createProducer(null);
        answering
                .createConsumer(ownQueue(answering))
                .setMessageListener(request -> answer(answering, answers, request));
        QueueConnection connection = new JmsConnectionFactory(url).createQueueConnection();
        try {
            connection.start();
            QueueSession session = connection.createQueueSession(false, Session.AUTO_ACKNOWLEDGE);
            QueueRequestor requestor = new QueueRequestor(session, ownQueue(session));
            Message reply = requestor.request(session.createTextMessage("why"));
            assertEquals("answer to why", text(reply));
        } finally {
            connection.close();
        }
    }

    private static void answer(Session session, MessageProducer producer, Message request) {
        try {
            Message reply = session.createTextMessage("answer to " + text(request));
            reply.setJMSCorrelationID(request.getJMSMessageID());
            producer.send(request.getJMSReplyTo(), reply);
        } catch (JMSException error) {
            throw new IllegalStateException(error);
        }
    }

    @Test
    void aBrowserLooksAndLeavesEverything() throws Exception {
        send("a", "b", "c");
        Session session = session();
        QueueBrowser browser = session.createBrowser(ownQueue(session));
        for (int look = 0; look < 2; look++) {
            List<String> seen = new ArrayList<>();
            for (Object message : Collections.list(browser.getEnumeration())) {
                seen.add(text((Message) message));
            }
            assertEquals(List.of("a", "b", "c"), seen);
        }
        browser.close();
        assertEquals(List.of("a", "b", "c"), drain());
        QueueBrowser empty = session.createBrowser(ownQueue(session));
        assertFalse(empty.getEnumeration().hasMoreElements());
    }

    @Test
    void aBrowserWithASelector() throws Exception {
        Session session = session();
        MessageProducer producer = session.createProducer(ownQueue(session));
        for (int n = 0; n < 4; n++) {
            TextMessage message = session.createTextMessage("n" + n);
            message.setIntProperty("n", n);
            producer.send(message);
        }
        List<String> seen = new ArrayList<>();
        for (Object message : Collections.list(session.createBrowser(ownQueue(session), "n > 1").getEnumeration())) {
            seen.add(text((Message) message));
        }
        assertEquals(List.of("n2", "n3"), seen);
    }

    @Test
    void aQueueThatDoesNotExistIsRefused() throws Exception {
        Session session = session();
        assertThrows(
                InvalidDestinationException.class, () -> session.createConsumer(session.createQueue("no-such-queue")));
        assertThrows(
                InvalidDestinationException.class, () -> session.createProducer(session.createQueue("no-such-queue")));
        MessageProducer anonymous = session.createProducer(null);
        assertThrows(
                JMSException.class,
                () -> anonymous.send(session.createQueue("no-such-queue"), session.createTextMessage("lost")));
    }
}
