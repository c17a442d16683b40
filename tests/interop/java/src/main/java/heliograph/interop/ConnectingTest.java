package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.Connection;
import jakarta.jms.InvalidClientIDException;
import jakarta.jms.JMSException;
import jakarta.jms.JMSSecurityException;
import jakarta.jms.MessageConsumer;
import jakarta.jms.Session;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.junit.jupiter.api.Test;

class ConnectingTest extends Broker {
    /** The user that the Python side has made, and that user's password. */
    private static final String USER = System.getProperty("user", "");

    private static final String PASSWORD = System.getProperty("password", "");

    private void exchange(Connection connection) throws JMSException {
        connection.start();
        Session session = connection.createSession();
        session.createProducer(ownQueue(session)).send(session.createTextMessage("a"));
        MessageConsumer consumer = session.createConsumer(ownQueue(session));
        assertEquals("a", next(consumer).getText());
        connection.close();
    }

    @Test
    void anonymously() throws Exception {
        exchange(new JmsConnectionFactory(url).createConnection());
    }

    @Test
    void withUserAndPassword() throws Exception {
        exchange(new JmsConnectionFactory(USER, PASSWORD, url).createConnection());
    }

    @Test
    void aWrongPasswordIsASecurityException() {
        JmsConnectionFactory factory = new JmsConnectionFactory(USER, "wrong", url);
        assertThrows(JMSSecurityException.class, () -> factory.createConnection().start());
    }

    @Test
    void aClientIdIsUsedOnce() throws Exception {
        Connection first = connection(queue, "");
        assertThrows(InvalidClientIDException.class, () -> connection(queue, ""));
        first.close();
        connection(queue, "");
    }

    @Test
    void overTlsWithUserAndPassword() throws Exception {
        String tls = System.getProperty("tls");
        exchange(new JmsConnectionFactory(USER, PASSWORD, tls + trust()).createConnection());
    }

    @Test
    void overTlsWithACertificate() throws Exception {
        String store = "&transport.keyStoreLocation=" + System.getProperty("keys") + "&transport.keyStorePassword=changeit";
        exchange(new JmsConnectionFactory(System.getProperty("tls") + trust() + store).createConnection());
    }

    @Test
    void overTlsAnUnknownAuthorityIsRefused() {
        JmsConnectionFactory factory = new JmsConnectionFactory(USER, PASSWORD, System.getProperty("tls"));
        assertThrows(JMSException.class, () -> factory.createConnection().start());
    }

    private static String trust() {
        return "?transport.trustStoreLocation=" + System.getProperty("trust") + "&transport.trustStorePassword=changeit";
    }

    @Test
    void overAWebSocket() throws Exception {
        exchange(new JmsConnectionFactory(System.getProperty("ws")).createConnection());
    }

    @Test
    void aQueueManagerIsFoundByItsName() throws Exception {
        String redirected = "failover:(" + url + "?amqp.vhost=ELSEWHERE)";
        try (Connection connection = new JmsConnectionFactory(redirected).createConnection()) {
            Session session = connection.createSession();
            session.createProducer(session.createQueue("there"));
        }
    }

    @Test
    void aQueueManagerThatIsNotThereIsAJmsException() {
        JMSException refused = assertThrows(JMSException.class, () -> connection(null, "amqp.vhost=NOPE"));
        assertTrue(refused.getMessage().contains("there is no queue manager NOPE, only heliograph, ELSEWHERE"));
    }

    @Test
    void closedPortsAreJmsExceptions() {
        JmsConnectionFactory factory = new JmsConnectionFactory("amqp://127.0.0.1:1");
        assertThrows(JMSException.class, () -> factory.createConnection().start());
    }
}
