package heliograph.interop;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Runs test methods by name, so that one JVM serves all of them. Each line of standard input is "CLASS METHOD URL QUEUE"; the answer is
 * "passed", or the lines of a stack trace and then "failed".
 */
public final class Runner {
    private Runner() {}

    public static void main(String[] arguments) throws Exception {
        Launcher launcher = LauncherFactory.create();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            Broker.url = words[2];
            Broker.queue = words[3];
            System.out.println(run(launcher, words[0], words[1]) ? "passed" : "failed");
            System.out.flush();
        }
        System.exit(0); // threads of connections that a failed test left open must not keep the process
    }

    private static boolean run(Launcher launcher, String className, String method) {
        LauncherDiscoveryRequest request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectMethod("heliograph.interop." + className, method))
                        .build();
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        launcher.execute(request, listener);
        TestExecutionSummary summary = listener.getSummary();
        for (TestExecutionSummary.Failure failure : summary.getFailures()) {
            failure.getException().printStackTrace(System.out);
        }
        return summary.getTestsSucceededCount() == 1 && summary.getTotalFailureCount() == 0;
    }
}
