package heliograph.interop;

import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.util.ArrayList;
import java.util.List;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.junit.jupiter.api.AfterEach;

/** What all tests use: the server, a queue of the test's own, and connections that are closed after the test. */
abstract class Broker {
    /** The server's address, and a queue that no other test uses. */
    static String url;

    static String queue;

    /** Milliseconds in which something that comes has come, and those after which it is believed not to come. */
    static final long PATIENCE = 20_000;

    static final long SHORT = 300;

    private final List<Connection> opened = new ArrayList<>();

    Connection connection() throws JMSException {
        return connection(null, "");
    }

    /** A started connection with a client ID and options of the URL, as in "jms.prefetchPolicy.all=0". */
    Connection connection(String clientId, String options) throws JMSException {
        JmsConnectionFactory factory = new JmsConnectionFactory(url + (options.isEmpty() ? "" : "?" + options));
        Connection connection = factory.createConnection();
        opened.add(connection);
        if (clientId != null) {
            connection.setClientID(clientId);
        }
        connection.start();
        return connection;
    }

    Session session() throws JMSException {
        return session(Session.AUTO_ACKNOWLEDGE);
    }

    Session session(int mode) throws JMSException {
        return connection().createSession(mode);
    }

    /** Send text messages to the test's queue. */
    void send(String... texts) throws JMSException {
        Session session = session();
        MessageProducer producer = session.createProducer(session.createQueue(queue));
        for (String text : texts) {
            producer.send(session.createTextMessage(text));
        }
        session.close();
    }

    /** What the test's queue has, in order; it is empty then. */
    List<String> drain() throws JMSException {
        Session session = session();
        try (MessageConsumer consumer = session.createConsumer(session.createQueue(queue))) {
            return texts(consumer);
        }
    }

    /** The texts of all messages that come without a longer pause. */
    static List<String> texts(MessageConsumer consumer) throws JMSException {
        List<String> texts = new ArrayList<>();
        for (Message message = consumer.receive(SHORT); message != null; message = consumer.receive(SHORT)) {
            texts.add(text(message));
        }
        return texts;
    }

    static String text(Message message) throws JMSException {
        return ((TextMessage) message).getText();
    }

    /** The next message, which has to come. */
    static TextMessage next(MessageConsumer consumer) throws JMSException {
        Message message = consumer.receive(PATIENCE);
        if (message == null) {
            throw new AssertionError("no message came");
        }
        return (TextMessage) message;
    }

    Queue ownQueue(Session session) throws JMSException {
        return session.createQueue(queue);
    }

    @AfterEach
    void closeConnections() throws JMSException {
        for (Connection connection : opened) {
            connection.close();
        }
    }
}
