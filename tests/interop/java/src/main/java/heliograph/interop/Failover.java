package heliograph.interop;

import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TransactionRolledBackException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.qpid.jms.JmsConnectionFactory;

/**
 * Sends and receives numbered messages with `failover:` while the server is killed and started again. "sent N" is printed when the
 * server has confirmed message N, "received N" when its acknowledgement or commit has returned. Standard input says when to stop sending: its end.
 */
public final class Failover {
    private Failover() {}

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        String queue = arguments[1];
        boolean transacted = arguments[2].equals("transacted");
        AtomicBoolean sending = new AtomicBoolean(true);
        AtomicInteger last = new AtomicInteger(-1);
        Thread receiver = new Thread(() -> receive(url, queue, transacted, sending, last));
        Thread sender = new Thread(() -> send(url, queue, transacted, sending, last));
        receiver.start();
        sender.start();
        while (System.in.read() >= 0) {
            // only the end matters
        }
        sending.set(false);
        sender.join();
        receiver.join();
        System.out.println("done");
        System.exit(0);
    }

    private static void send(String url, String queue, boolean transacted, AtomicBoolean sending, AtomicInteger last) {
        try (Connection connection = new JmsConnectionFactory(url).createConnection()) {
            Session session = connection.createSession(transacted ? Session.SESSION_TRANSACTED : Session.AUTO_ACKNOWLEDGE);
            MessageProducer producer = session.createProducer(session.createQueue(queue));
            for (int number = 0; sending.get(); number++) {
                for (boolean done = false; !done; ) {
                    try {
                        producer.send(session.createTextMessage(Integer.toString(number)));
                        if (transacted) {
                            session.commit();
                        }
                        done = true;
                    } catch (JMSException error) {
                        rollBack(session, transacted, error);
                    }
                }
                last.set(number);
                say("sent " + number);
            }
        } catch (JMSException error) {
            fail(error);
        }
    }

    private static void receive(
            String url, String queue, boolean transacted, AtomicBoolean sending, AtomicInteger last) {
        try (Connection connection = new JmsConnectionFactory(url).createConnection()) {
            connection.start();
            Session session = connection.createSession(transacted ? Session.SESSION_TRANSACTED : Session.CLIENT_ACKNOWLEDGE);
            MessageConsumer consumer = session.createConsumer(session.createQueue(queue));
            boolean all = false;
            while (!all) {
                Message message = consumer.receive(sending.get() ? 1000 : 3000);
                if (message == null) {
                    all = !sending.get();
                    continue;
                }
                String number = Broker.text(message);
                try {
                    if (transacted) {
                        session.commit();
                    } else {
                        message.acknowledge();
                    }
                    say("received " + number);
                } catch (JMSException error) {
                    say("maybe " + number);
                    rollBack(session, transacted, error);
                }
            }
        } catch (JMSException error) {
            fail(error);
        }
    }

    /** A unit of work that was open when the connection broke cannot be committed: it is done again. */
    private static void rollBack(Session session, boolean transacted, JMSException error) throws JMSException {
        if (transacted && error instanceof TransactionRolledBackException) {
            return;
        }
        if (transacted) {
            session.rollback();
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void fail(Exception error) {
        error.printStackTrace(System.out);
        System.out.flush();
        System.exit(1);
    }
}
